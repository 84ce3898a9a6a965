-- Every statement of the manual, on the catalog it configures: local, of type hadoop.
CREATE NAMESPACE local.analytics;

-- Crear y leer
CREATE TABLE local.analytics.events (
  id BIGINT,
  event_time TIMESTAMP,
  type STRING
)
USING iceberg
PARTITIONED BY (days(event_time));

INSERT INTO local.analytics.events VALUES
  (1, TIMESTAMP '2026-09-08 10:15:00', 'signup'),
  (2, TIMESTAMP '2026-09-08 10:16:00', 'purchase');

SELECT type, count(*) FROM local.analytics.events GROUP BY type;

-- DataFrameWriterV2: append() is INSERT INTO
INSERT INTO local.analytics.events
SELECT id, CAST(event_time AS TIMESTAMP) AS event_time, type FROM VALUES (3L, '2026-09-08 11:00:00', 'page_view') AS lote(id, event_time, type);

SELECT * FROM local.analytics.events;

-- create() and replace() are CTAS and RTAS
CREATE TABLE local.analytics.copia USING iceberg PARTITIONED BY (type) AS SELECT * FROM local.analytics.events;

SELECT type, id FROM local.analytics.copia;

CREATE OR REPLACE TABLE local.analytics.copia USING iceberg AS SELECT id, type FROM local.analytics.events WHERE id > 1;

SELECT * FROM local.analytics.copia;

SELECT operation, summary['added-records'] FROM local.analytics.copia.snapshots ORDER BY committed_at;

-- INSERT OVERWRITE: static, the whole table
INSERT OVERWRITE local.analytics.copia SELECT 7L, 'siete';

SELECT * FROM local.analytics.copia;

-- INSERT OVERWRITE: static, one partition
CREATE TABLE local.analytics.partes (id BIGINT, dia STRING) USING iceberg PARTITIONED BY (dia);

INSERT INTO local.analytics.partes VALUES (1, 'lunes'), (2, 'martes'), (3, 'martes'), (4, 'viernes');

INSERT OVERWRITE local.analytics.partes PARTITION (dia = 'martes') SELECT 20L;

SELECT * FROM local.analytics.partes;

-- INSERT OVERWRITE: dynamic, the partitions that the query gives
SET spark.sql.sources.partitionOverwriteMode = dynamic;

INSERT OVERWRITE local.analytics.partes VALUES (40, 'viernes'), (50, 'sábado');

SELECT * FROM local.analytics.partes;

INSERT OVERWRITE local.analytics.events VALUES (9, TIMESTAMP '2026-09-09 10:15:00', 'signup');

SELECT * FROM local.analytics.events;

SET spark.sql.sources.partitionOverwriteMode = static;

INSERT OVERWRITE local.analytics.partes VALUES (60, 'domingo');

SELECT * FROM local.analytics.partes;

SELECT operation, summary['added-records'], summary['deleted-records'], summary['replace-partitions'] FROM local.analytics.partes.snapshots ORDER BY committed_at;

-- MERGE / UPDATE / DELETE
CREATE TABLE local.analytics.event_fixes (id BIGINT, event_time TIMESTAMP, type STRING, op STRING) USING iceberg;

INSERT INTO local.analytics.event_fixes VALUES
  (1, NULL, NULL, 'delete'),
  (2, NULL, 'refund', 'update'),
  (4, TIMESTAMP '2026-09-10 08:00:00', 'login', 'insert'),
  (5, TIMESTAMP '2026-09-10 08:00:00', 'login', 'delete'),
  (6, NULL, 'logout', NULL);

MERGE INTO local.analytics.events t
USING local.analytics.event_fixes s
ON t.id = s.id
WHEN MATCHED AND s.op = 'delete' THEN DELETE
WHEN MATCHED THEN UPDATE SET t.type = s.type
WHEN NOT MATCHED AND s.op <> 'delete' THEN INSERT (id, event_time, type)
  VALUES (s.id, s.event_time, s.type);

SELECT * FROM local.analytics.events;

SELECT operation, summary['added-data-files'], summary['deleted-data-files'], summary['added-records'], summary['deleted-records'], summary['changed-partition-count'], summary['total-records']
FROM local.analytics.events.snapshots ORDER BY committed_at;

-- two rows of the source for one id
INSERT INTO local.analytics.event_fixes VALUES (2, NULL, 'again', 'update');

MERGE INTO local.analytics.events t
USING local.analytics.event_fixes s
ON t.id = s.id
WHEN MATCHED AND s.op = 'delete' THEN DELETE
WHEN MATCHED THEN UPDATE SET t.type = s.type
WHEN NOT MATCHED AND s.op <> 'delete' THEN INSERT (id, event_time, type)
  VALUES (s.id, s.event_time, s.type);

-- whole partitions are deleted by metadata alone, single rows by rewriting
DELETE FROM local.analytics.events WHERE event_time >= TIMESTAMP '2026-09-10 00:00:00' AND event_time < TIMESTAMP '2026-09-11 00:00:00';

UPDATE local.analytics.events SET type = upper(type) WHERE id = 3;

DELETE FROM local.analytics.events WHERE id = 9;

SELECT * FROM local.analytics.events;

SELECT operation, summary['added-data-files'], summary['deleted-data-files'] FROM local.analytics.events.snapshots ORDER BY committed_at;

-- Time travel
SELECT *
FROM local.analytics.events
VERSION AS OF 10963874102873;

SELECT *
FROM local.analytics.events
TIMESTAMP AS OF '2026-09-08 12:00:00';

SELECT *
FROM local.analytics.events
VERSION AS OF 'audit';

-- let segundo
SELECT snapshot_id FROM local.analytics.events.snapshots ORDER BY committed_at LIMIT 1 OFFSET 1;

-- let cuando
SELECT committed_at FROM local.analytics.events.snapshots ORDER BY committed_at LIMIT 1 OFFSET 1;

ALTER TABLE local.analytics.events CREATE BRANCH audit AS OF VERSION ${segundo};

SELECT *
FROM local.analytics.events
VERSION AS OF ${segundo};

SELECT *
FROM local.analytics.events
TIMESTAMP AS OF '${cuando}';

SELECT *
FROM local.analytics.events
VERSION AS OF 'audit';

SELECT * FROM local.analytics.events FOR SYSTEM_VERSION AS OF ${segundo};

SELECT * FROM local.analytics.events FOR SYSTEM_TIME AS OF '${cuando}';

SELECT * FROM local.analytics.events.branch_audit;

INSERT INTO local.analytics.events.branch_audit VALUES (100, TIMESTAMP '2026-09-11 00:00:00', 'audited');

SELECT * FROM local.analytics.events VERSION AS OF 'audit';

SELECT * FROM local.analytics.events;
