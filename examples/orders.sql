-- Orders of a week: a partitioned Iceberg table created, filled, merged, deleted from, read as it was, changed and
-- maintained. Runs on the catalog `local`, which needs no configuration: its tables lie in ./warehouse.

CREATE NAMESPACE IF NOT EXISTS sales;

CREATE TABLE sales.orders (
    order_id  bigint,
    customer  string,
    total     decimal(10, 2),
    placed_at timestamp)
USING iceberg
PARTITIONED BY (days(placed_at));

-- 7,000 orders, 1,000 a day from 1 October 2026
INSERT INTO sales.orders
SELECT id,
       concat('customer-', id % 50),
       CAST((id % 97) * 1.25 AS decimal(10, 2)),
       timestamp'2026-10-01 00:00:00'
         + make_interval(0, 0, 0, CAST(id DIV 1000 AS int),
                         0, 0, CAST(id % 1000 * 60 AS int))
FROM range(7000);

ALTER TABLE sales.orders CREATE TAG first;

SELECT date(placed_at) AS day, count(*) AS orders
FROM sales.orders GROUP BY 1 ORDER BY 1;

SELECT partition.placed_at_day AS day, record_count, file_count
FROM sales.orders.partitions
ORDER BY day;

-- corrected totals for 100 existing orders, and 50 late orders
CREATE OR REPLACE TEMPORARY VIEW updates AS
SELECT id AS order_id,
       concat('customer-', id % 50) AS customer,
       CAST(id % 97 * 1.25 + 5 AS decimal(10, 2)) AS total,
       timestamp'2026-10-07 12:00:00' AS placed_at
FROM range(6900, 7050);

MERGE INTO sales.orders AS o
USING updates AS u
ON o.order_id = u.order_id
WHEN MATCHED THEN UPDATE SET o.total = u.total
WHEN NOT MATCHED THEN INSERT *;

SELECT count(*) AS orders, sum(total) AS revenue FROM sales.orders;

DELETE FROM sales.orders
WHERE placed_at < timestamp'2026-10-02 00:00:00';

SELECT operation,
       summary['deleted-data-files'] AS files_removed,
       summary['added-data-files'] AS files_added
FROM sales.orders.snapshots
ORDER BY committed_at;

SELECT count(*) AS now FROM sales.orders;

-- the table as its first snapshot left it
SELECT count(*) AS first_snapshot FROM sales.orders VERSION AS OF 'first';
ALTER TABLE sales.orders DROP TAG first;

ALTER TABLE sales.orders ADD COLUMN channel string;

INSERT INTO sales.orders
VALUES (9001, 'customer-1', 20.00,
        timestamp'2026-10-07 18:00:00', 'web');

SELECT channel, count(*) AS orders
FROM sales.orders GROUP BY channel ORDER BY channel;

SELECT (SELECT count(*) FROM sales.orders.files) AS files,
       (SELECT count(*) FROM sales.orders.snapshots) AS snapshots;

CALL local.system.rewrite_data_files(
    table => 'sales.orders',
    options => map('min-input-files', '2'));

CALL local.system.expire_snapshots(
    table => 'sales.orders',
    older_than => current_timestamp(),
    retain_last => 1);

SELECT (SELECT count(*) FROM sales.orders.files) AS files,
       (SELECT count(*) FROM sales.orders.snapshots) AS snapshots;
