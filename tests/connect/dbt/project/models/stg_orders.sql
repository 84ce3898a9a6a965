{{ config(materialized='view', event_time='ordered_at') }}
select order_id, customer_id, ordered_at, cast(ordered_at as date) as ordered_on, status, amount, day
from {{ source('raw', 'raw_orders') }}
where day <= {{ var('day') }}
