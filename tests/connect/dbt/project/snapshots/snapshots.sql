{% snapshot orders_history %}
{{ config(target_schema=target.schema, unique_key='order_id', strategy='timestamp', updated_at='ordered_at', invalidate_hard_deletes=True) }}
select order_id, customer_id, status, ordered_at from {{ ref('orders_current') }}
{% endsnapshot %}

{% snapshot customers_history %}
{{ config(target_schema=target.schema, unique_key='customer_id', strategy='check', check_cols=['orders', 'city']) }}
select customer_id, city, orders from {{ ref('customers') }}
{% endsnapshot %}
