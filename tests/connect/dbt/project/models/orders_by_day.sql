{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by=['ordered_on']) }}
select order_id, status, amount, ordered_on
from {{ ref('stg_orders') }}
{% if is_incremental() %}
where ordered_on >= (select max(ordered_on) from {{ this }})
{% endif %}
