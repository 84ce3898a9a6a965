{{ config(materialized='incremental', incremental_strategy='merge', unique_key='order_id', on_schema_change='append_new_columns') }}
select order_id, customer_id, status, amount, ordered_at{% if var('day') >= 2 %}, day{% endif %}
from {{ ref('stg_orders') }}
where day = {{ var('day') }}
