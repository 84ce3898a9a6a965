{{ config(materialized='table', partition_by=['bucket(4, customer_id)'], tblproperties={'write.format.default': 'parquet', 'owner.team': 'sales'}) }}
with totals as (
    select customer_id, count(*) as orders, sum(amount) as total, max(ordered_at) as last_at
    from {{ ref('stg_orders') }}
    group by customer_id
)
select c.customer_id, c.name, c.city, coalesce(t.orders, 0) as orders, t.total, t.last_at
from {{ ref('raw_customers') }} c left join totals t using (customer_id)
