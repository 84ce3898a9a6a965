-- Every SQL statement of the architecture document, on a hadoop catalog, with the tables and views that it takes for granted.
CREATE NAMESPACE lake.sales;

CREATE TABLE lake.sales.orders (order_id BIGINT, customer_id BIGINT, order_ts TIMESTAMP, order_date DATE, amount DECIMAL(12, 2), note STRING)
USING iceberg
PARTITIONED BY (days(order_ts), bucket(16, customer_id))
TBLPROPERTIES ('format-version' = '2', 'write.target-file-size-bytes' = '536870912');

INSERT INTO lake.sales.orders
SELECT id, id % 20, timestamp'2026-07-30 00:00:00' + make_interval(0, 0, 0, CAST(id DIV 40 AS int), CAST(id % 24 AS int), 0, 0),
  date'2026-07-30' + CAST(id DIV 40 AS int), CAST(id * 1.5 AS decimal(12, 2)), IF(id % 3 = 0, NULL, concat('note ', id)) FROM range(200);

SELECT order_date, count(*), sum(amount) FROM lake.sales.orders GROUP BY order_date ORDER BY 1;

DESCRIBE lake.sales.orders;

SHOW TBLPROPERTIES lake.sales.orders ('write.target-file-size-bytes');

-- dynamic overwrite, and overwrite by a filter
SET spark.sql.sources.partitionOverwriteMode = dynamic;

INSERT OVERWRITE lake.sales.orders SELECT order_id + 1000, customer_id, order_ts, order_date, amount, 'replaced' FROM lake.sales.orders WHERE order_id BETWEEN 40 AND 59;

SELECT note = 'replaced' AS replaced, count(*), sum(order_id) FROM lake.sales.orders GROUP BY 1;

SET spark.sql.sources.partitionOverwriteMode = static;

INSERT INTO lake.sales.orders REPLACE WHERE order_date = date'2026-08-01' SELECT 5000L, 5L, timestamp'2026-08-01 12:00:00', date'2026-08-01', 1.25, 'overwritten';

SELECT * FROM lake.sales.orders WHERE order_date = date'2026-08-01';

-- MERGE INTO, copy-on-write and merge-on-read
CREATE TABLE lake.sales.customers (customer_id BIGINT, name STRING, level STRING) USING iceberg;

INSERT INTO lake.sales.customers SELECT id, concat('customer ', id), 'bronze' FROM range(0, 10, 1, 1);

CREATE TEMPORARY VIEW staged_updates AS SELECT * FROM VALUES (1L, 'one', 'gold', 'U'), (2L, 'two', 'gold', 'D'), (30L, 'thirty', 'silver', 'I'), (31L, 'thirty-one', 'silver', 'D') AS s(customer_id, name, level, op);

MERGE INTO lake.sales.customers t
USING staged_updates s
ON t.customer_id = s.customer_id
WHEN MATCHED AND s.op = 'D' THEN DELETE
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM lake.sales.customers;

ALTER TABLE lake.sales.customers SET TBLPROPERTIES (
  'write.merge.mode'  = 'merge-on-read',
  'write.update.mode' = 'merge-on-read',
  'write.delete.mode' = 'copy-on-write'
);

CREATE OR REPLACE TEMPORARY VIEW staged_updates AS SELECT * FROM VALUES (1L, 'uno', 'gold', 'U'), (3L, 'three', 'gold', 'D'), (40L, 'forty', 'silver', 'I') AS s(customer_id, name, level, op);

MERGE INTO lake.sales.customers t
USING staged_updates s
ON t.customer_id = s.customer_id
WHEN MATCHED AND s.op = 'D' THEN DELETE
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM lake.sales.customers;

UPDATE lake.sales.customers SET level = 'platinum' WHERE customer_id = 4;

DELETE FROM lake.sales.customers WHERE customer_id = 5;

SELECT * FROM lake.sales.customers;

SELECT operation, summary['added-data-files'], summary['deleted-data-files'], summary['added-delete-files'], summary['added-position-deletes'], summary['total-delete-files'], summary['total-records']
FROM lake.sales.customers.snapshots ORDER BY committed_at;

SELECT content, record_count FROM lake.sales.customers.files ORDER BY 1, 2;

CREATE OR REPLACE TEMPORARY VIEW staged_updates AS SELECT * FROM VALUES (1L, 'a', 'gold', 'U'), (1L, 'b', 'gold', 'U') AS s(customer_id, name, level, op);

MERGE INTO lake.sales.customers t
USING staged_updates s
ON t.customer_id = s.customer_id
WHEN MATCHED AND s.op = 'D' THEN DELETE
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *;

-- Metadata tables
SELECT count(*), avg(file_size_in_bytes)/1048576 > 0 AS avg_mb
FROM lake.sales.orders.files;

SELECT operation, summary['added-records'], summary['deleted-records'], summary['total-records'], summary['changed-partition-count']
FROM lake.sales.orders.snapshots ORDER BY committed_at DESC LIMIT 10;

SELECT content, partition_spec_id, added_data_files_count, existing_data_files_count, deleted_data_files_count, added_delete_files_count, partition_summaries FROM lake.sales.orders.manifests;

SELECT partition, spec_id, record_count, file_count, position_delete_record_count, position_delete_file_count, equality_delete_record_count, equality_delete_file_count FROM lake.sales.orders.partitions;

SELECT name, type, max_reference_age_in_ms, min_snapshots_to_keep, max_snapshot_age_in_ms FROM lake.sales.orders.refs;

-- Time travel
-- let first
SELECT snapshot_id FROM lake.sales.orders.snapshots ORDER BY committed_at LIMIT 1;

SELECT count(*), sum(order_id) FROM lake.sales.orders VERSION AS OF ${first};

SELECT * FROM lake.sales.orders VERSION AS OF 3821550127947089612;

SELECT * FROM lake.sales.orders TIMESTAMP AS OF '2026-08-01 00:00:00';

-- write to a branch, check it, fast-forward
ALTER TABLE lake.sales.orders CREATE BRANCH audit;

INSERT INTO lake.sales.orders.branch_audit VALUES (7777, 7, timestamp'2026-08-02 00:00:00', date'2026-08-02', 7.77, 'audit');

SELECT count(*) FROM lake.sales.orders WHERE order_id = 7777;

SELECT count(*) FROM lake.sales.orders VERSION AS OF 'audit' WHERE order_id = 7777;

SELECT name, count(*) FROM lake.sales.orders.refs GROUP BY 1;

-- Partition evolution
ALTER TABLE lake.sales.orders ADD PARTITION FIELD hours(order_ts);

ALTER TABLE lake.sales.orders DROP PARTITION FIELD days(order_ts);

ALTER TABLE lake.sales.orders REPLACE PARTITION FIELD days(order_ts) WITH hours(order_ts);

ALTER TABLE lake.sales.orders DROP PARTITION FIELD hours(order_ts);

ALTER TABLE lake.sales.orders ADD PARTITION FIELD days(order_ts);

ALTER TABLE lake.sales.orders REPLACE PARTITION FIELD days(order_ts) WITH hours(order_ts);

ALTER TABLE lake.sales.orders WRITE ORDERED BY customer_id, order_ts;

INSERT INTO lake.sales.orders SELECT id, id % 3, timestamp'2026-08-11 10:00:00' + make_interval(0, 0, 0, 0, CAST(id % 2 AS int), 0, 0), date'2026-08-11', 1, 'hourly' FROM range(6000, 6030);

SELECT partition, spec_id, record_count, file_count FROM lake.sales.orders.partitions;

SELECT customer_id, count(*) FROM lake.sales.orders WHERE order_ts >= timestamp'2026-08-11 11:00:00' GROUP BY 1;

SHOW TBLPROPERTIES lake.sales.orders ('sort-order');

DESCRIBE lake.sales.orders;

-- Compaction
-- any rewritten_bytes_count
CALL lake.system.rewrite_data_files(
  table       => 'sales.orders',
  strategy    => 'sort',
  sort_order  => 'customer_id, order_ts',
  where       => 'order_date < "2026-08-12"',
  options     => map(
    'min-input-files',          '5',
    'target-file-size-bytes',   '536870912',
    'partial-progress.enabled', 'true'
  )
);

SELECT count(*), sum(order_id), sum(amount) FROM lake.sales.orders;

-- Snapshot expiry, orphan files, and manifest rewriting
CALL lake.system.expire_snapshots(
  table => 'sales.orders', older_than => TIMESTAMP '2026-08-05 00:00:00', retain_last => 10);

CALL lake.system.remove_orphan_files(
  table => 'sales.orders', older_than => TIMESTAMP '2026-08-09 00:00:00');

CALL lake.system.rewrite_manifests(table => 'sales.orders');

SELECT count(*), sum(order_id), sum(amount) FROM lake.sales.orders;

-- any updated_ref
CALL lake.system.fast_forward('sales.orders', 'nowhere', 'audit');
