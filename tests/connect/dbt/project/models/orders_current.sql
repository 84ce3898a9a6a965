{{ config(materialized='view') }}
select order_id, customer_id, status, ordered_at from (
    select *, row_number() over (partition by order_id order by ordered_at desc) as rank from {{ ref('stg_orders') }}
) where rank = 1 and not (order_id = 1 and {{ var('day') }} = 3)
