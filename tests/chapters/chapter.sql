-- The listings of the chapter, 12.4 to 12.10, on a hadoop catalog.
CREATE NAMESPACE IF NOT EXISTS lake.sales;

-- 12.4 Creating a partitioned table
CREATE TABLE lake.sales.orders (
        order_id  bigint,
        customer  string,
        total     decimal(10, 2),
        placed_at timestamp)
    USING iceberg
    PARTITIONED BY (days(placed_at));

INSERT INTO lake.sales.orders
    SELECT id,
           concat('customer-', id % 50),
           CAST((id % 97) * 1.25 AS decimal(10, 2)),
           timestamp'2026-10-01 00:00:00'
             + make_interval(0, 0, 0, CAST(id DIV 1000 AS int),
                             0, 0, CAST(id % 1000 * 60 AS int))
    FROM range(7000);

SELECT date(placed_at) AS day, count(*) AS orders
    FROM lake.sales.orders GROUP BY 1 ORDER BY 1;

SELECT partition.placed_at_day AS day,
           record_count, file_count
    FROM lake.sales.orders.partitions
    ORDER BY day;

-- 12.5 Upserts with MERGE INTO
CREATE OR REPLACE TEMPORARY VIEW updates AS
    SELECT id AS order_id,
           concat('customer-', id % 50) AS customer,
           CAST(id % 97 * 1.25 + 5 AS decimal(10, 2)) AS total,
           timestamp'2026-10-07 12:00:00' AS placed_at
    FROM range(6900, 7050);

MERGE INTO lake.sales.orders AS o
    USING updates AS u
    ON o.order_id = u.order_id
    WHEN MATCHED THEN UPDATE SET o.total = u.total
    WHEN NOT MATCHED THEN INSERT *;

SELECT count(*) AS orders, sum(total) AS revenue
    FROM lake.sales.orders;

-- 12.6 Deleting by partition
DELETE FROM lake.sales.orders
    WHERE placed_at < timestamp'2026-10-02 00:00:00';

SELECT operation,
           summary['deleted-data-files'] AS files_removed,
           summary['added-data-files'] AS files_added
    FROM lake.sales.orders.snapshots
    ORDER BY committed_at;

-- 12.7 Time travel
-- let first
SELECT snapshot_id FROM lake.sales.orders.snapshots
    ORDER BY committed_at LIMIT 1;

SELECT count(*) FROM lake.sales.orders;

SELECT count(*) FROM lake.sales.orders VERSION AS OF ${first};

SELECT count(*), sum(total), min(placed_at), max(placed_at) FROM lake.sales.orders FOR SYSTEM_VERSION AS OF ${first};

-- let then
SELECT committed_at FROM lake.sales.orders.snapshots WHERE snapshot_id = ${first};

SELECT count(*) FROM lake.sales.orders TIMESTAMP AS OF '${then}';

-- 12.8 Changing the schema
ALTER TABLE lake.sales.orders ADD COLUMN channel string;

INSERT INTO lake.sales.orders
    VALUES (9001, 'customer-1', 20.00,
            timestamp'2026-10-07 18:00:00', 'web');

SELECT channel, count(*) AS orders
    FROM lake.sales.orders GROUP BY channel;

SELECT count(*), count(total) FROM lake.sales.orders VERSION AS OF ${first};

DESCRIBE TABLE lake.sales.orders;

-- 12.9 Maintenance
SELECT count(*) FROM lake.sales.orders.files;

SELECT count(*) FROM lake.sales.orders.snapshots;

SELECT content, file_format, spec_id, partition.placed_at_day AS day, record_count, value_counts, null_value_counts, nan_value_counts,
    sort_order_id, readable_metrics.order_id.lower_bound, readable_metrics.total.upper_bound, readable_metrics.customer.lower_bound,
    readable_metrics.placed_at.upper_bound, readable_metrics.channel.null_value_count
    FROM lake.sales.orders.files ORDER BY day, record_count;

-- any rewritten_bytes_count
CALL lake.system.rewrite_data_files(
        table => 'sales.orders',
        options => map('min-input-files', '2'));

SELECT content, added_data_files_count, existing_data_files_count, deleted_data_files_count FROM lake.sales.orders.manifests;

SELECT count(*) FROM lake.sales.orders.all_data_files;

SELECT status, count(*) FROM lake.sales.orders.entries GROUP BY 1;

SELECT is_current_ancestor, count(*) FROM lake.sales.orders.history GROUP BY 1;

-- any deleted_manifest_files_count
CALL lake.system.expire_snapshots(
        table => 'sales.orders',
        older_than => current_timestamp(),
        retain_last => 1);

SELECT count(*) FROM lake.sales.orders.files;

SELECT count(*) FROM lake.sales.orders.snapshots;

SELECT type, max_reference_age_in_ms, min_snapshots_to_keep, max_snapshot_age_in_ms, name FROM lake.sales.orders.refs;

-- 12.10 Reading
SELECT order_id, total FROM lake.sales.orders WHERE channel = 'web';

SELECT date(placed_at) AS day, count(*) AS orders FROM lake.sales.orders GROUP BY 1 ORDER BY 1;

-- 12.11 Cleaning up
DROP TABLE lake.sales.orders;

SHOW TABLES IN lake.sales;

DROP NAMESPACE lake.sales;

SHOW NAMESPACES IN lake;
