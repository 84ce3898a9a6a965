-- Structs that are assigned in other orders and under other names: by position, by name, in UPDATE and MERGE; maps have no order.

CREATE NAMESPACE lake.xw3;

CREATE TABLE lake.xw3.s (id bigint, v struct<a: int, b: string>, l array<struct<a: int, b: string>>, m map<int, struct<a: int, b: string>>) USING iceberg;

INSERT INTO lake.xw3.s VALUES (1, struct(1, 'x'), array(struct(1, 'x')), map(1, struct(1, 'x')));

INSERT INTO lake.xw3.s (id, v, l, m) VALUES (2, struct(1, 'x'), array(struct(1, 'x')), map(1, struct(1, 'x')));

INSERT INTO lake.xw3.s BY NAME SELECT 3 AS id, struct(1, 'x') AS v, array(struct(1, 'x')) AS l, map(1, struct(1, 'x')) AS m;

INSERT INTO lake.xw3.s BY NAME SELECT 4 AS id, struct('x' AS b, 1 AS a) AS v, array(struct('x' AS b, 1 AS a)) AS l, map(1, struct('x' AS b, 1 AS a)) AS m;

UPDATE lake.xw3.s SET v = struct('u' AS b, 5 AS a) WHERE id = 1;

UPDATE lake.xw3.s SET l = array(struct('u' AS b, 5 AS a)) WHERE id = 1;

UPDATE lake.xw3.s SET l = array(struct(1, 'x')) WHERE id = 1;

UPDATE lake.xw3.s SET m = map(1, struct('u' AS b, 5 AS a)) WHERE id = 1;

UPDATE lake.xw3.s SET m = map(1, struct(5 AS a)) WHERE id = 1;

UPDATE lake.xw3.s SET v = struct(5 AS a) WHERE id = 1;

UPDATE lake.xw3.s SET v = struct(5 AS a, 'x' AS b, 1 AS c) WHERE id = 1;

UPDATE lake.xw3.s SET v = struct(5 AS a, 'x' AS c) WHERE id = 1;

UPDATE lake.xw3.s SET v = NULL WHERE id = 1;

UPDATE lake.xw3.s SET v.b = 'set' WHERE id = 1;

UPDATE lake.xw3.s SET v.b = 'set', v.a = 9 WHERE id = 2;

MERGE INTO lake.xw3.s AS t USING (SELECT 10L AS id, struct('ins' AS b, 5 AS a) AS v) AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v);

MERGE INTO lake.xw3.s AS t USING (SELECT 11L AS id, struct('ins' AS c, 5 AS a) AS v) AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v);

MERGE INTO lake.xw3.s AS t USING (SELECT 2L AS id, struct('ins' AS c, 5 AS a) AS v) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v;

MERGE INTO lake.xw3.s AS t USING (SELECT 2L AS id, struct('mer' AS b, 5 AS a) AS v) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v;

SELECT * FROM lake.xw3.s ORDER BY id;

SELECT id, m FROM lake.xw3.s ORDER BY m;

SELECT id, m FROM lake.xw3.s ORDER BY id, 2;

SELECT id, m FROM lake.xw3.s ORDER BY id, m DESC;

SELECT id, m FROM lake.xw3.s SORT BY m;

DROP TABLE lake.xw3.s;

DROP NAMESPACE lake.xw3;

