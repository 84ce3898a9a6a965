{{ config(materialized='incremental', incremental_strategy='merge', unique_key=['order_id', 'customer_id'], merge_update_columns=['status'],
          incremental_predicates=["DBT_INTERNAL_DEST.order_id > 0"], post_hook="alter table {{ this }} set tblproperties ('last.day' = '{{ var('day') }}')") }}
select order_id, customer_id, status, day as first_day
from {{ ref('stg_orders') }}
where day = {{ var('day') }}
