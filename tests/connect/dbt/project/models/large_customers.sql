{{ config(materialized='view') }}
select distinct name from {{ ref('large_orders') }} join {{ ref('customers') }} using (customer_id)
