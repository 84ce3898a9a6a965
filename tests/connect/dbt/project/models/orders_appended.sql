{{ config(materialized='incremental', incremental_strategy='append', on_schema_change='append_new_columns') }}
select order_id, status, ordered_at{% if var('day') >= 3 %}, amount{% endif %}
from {{ ref('stg_orders') }}
{% if is_incremental() %}
where ordered_at > (select max(ordered_at) from {{ this }})
{% endif %}
