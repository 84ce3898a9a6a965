{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='ordered_at', batch_size='day', begin='2026-10-01',
          partition_by=['ordered_on'], lookback=1) }}
select order_id, status, ordered_at, ordered_on from {{ ref('stg_orders') }}
