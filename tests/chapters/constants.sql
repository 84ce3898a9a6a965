-- Conditions whose constants must be cast first still choose whole files: deletes by metadata alone, overwrites by filter, compaction.
CREATE NAMESPACE lake.constants;

CREATE TABLE lake.constants.t (id BIGINT, d DATE, ts TIMESTAMP, amount DECIMAL(10, 2)) USING iceberg PARTITIONED BY (days(ts), d);

INSERT INTO lake.constants.t SELECT id, date'2026-01-01' + CAST(id DIV 10 AS int), timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, CAST(id DIV 10 AS int), 0, 0, 0), id FROM range(0, 80, 1, 1);

DELETE FROM lake.constants.t WHERE ts < '2026-01-02';

DELETE FROM lake.constants.t WHERE d = '2026-01-02' OR d = date_add(date'2026-01-01', 2);

DELETE FROM lake.constants.t WHERE d IN ('2026-01-04', '2026-01-05') AND 1 + 1 = 2;

DELETE FROM lake.constants.t WHERE id < 60L + 1 AND d >= '2026-01-05';

DELETE FROM lake.constants.t WHERE 1 > 2;

UPDATE lake.constants.t SET amount = 1000 WHERE d = '2026-01-08' AND id = 70.0;

INSERT INTO lake.constants.t REPLACE WHERE d = '2026-01-06' SELECT 100, date'2026-01-06', timestamp'2026-01-06 00:00:00', 1;

SELECT operation, summary['deleted-data-files'], summary['added-data-files'], summary['deleted-records'], summary['total-records'] FROM lake.constants.t.snapshots ORDER BY committed_at;

SELECT * FROM lake.constants.t ORDER BY id;

INSERT INTO lake.constants.t SELECT id, date'2026-02-01' + CAST(id % 2 AS int), timestamp'2026-02-01 00:00:00', id FROM range(0, 10, 1, 1);

INSERT INTO lake.constants.t SELECT id, date'2026-02-01' + CAST(id % 2 AS int), timestamp'2026-02-01 00:00:00', id FROM range(0, 10, 1, 1);

-- any rewritten_bytes_count
CALL lake.system.rewrite_data_files(table => 'constants.t', where => 'd = "2026-02-01"', options => map('min-input-files', '2'));

-- any rewritten_bytes_count
CALL lake.system.rewrite_data_files(table => 'constants.t', where => 'ts >= "2026-02-01 00:00:00" and d > date_add(date"2026-02-01", 0)', options => map('min-input-files', '2'));

-- the same through OR REPLACE and OVERWRITE
CREATE OR REPLACE TABLE lake.constants.made USING iceberg AS SELECT 1 AS a;

CREATE OR REPLACE TABLE lake.constants.made USING iceberg AS SELECT 2 AS a;

CREATE OR REPLACE TABLE lake.constants.made USING iceberg AS SELECT 2 AS a WHERE false;

INSERT OVERWRITE lake.constants.made VALUES (3);

SELECT operation, summary['added-records'], summary['deleted-records'], summary['total-records'], parent_id IS NULL FROM lake.constants.made.snapshots ORDER BY committed_at;

CREATE TABLE lake.constants.empty USING iceberg AS SELECT 2 AS a WHERE false;

SELECT operation, summary['added-records'], summary['total-records'] FROM lake.constants.empty.snapshots;

REPLACE TABLE lake.constants.never USING iceberg AS SELECT 2 AS a;
