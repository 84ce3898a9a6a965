CREATE TABLE local.db.a AS SELECT id, repeat(cast(id AS string), 20) AS s FROM range(1500000);
MERGE INTO local.db.a t USING (SELECT id * 2 AS id, 'new' AS s FROM range(1000000)) u ON t.id = u.id WHEN MATCHED THEN UPDATE SET s = u.s WHEN NOT MATCHED THEN INSERT *;
SELECT count(*), sum(length(s)), count_if(s = 'new') FROM local.db.a;
DELETE FROM local.db.a WHERE id % 7 = 3;
CALL local.system.rewrite_data_files(table => 'db.a', strategy => 'sort', sort_order => 'id DESC', options => map('rewrite-all', 'true'));
SELECT count(*), sum(length(s)), count_if(s = 'new') FROM local.db.a;
CREATE TABLE local.db.p (id bigint, s string, p int) PARTITIONED BY (p, bucket(8, id));
INSERT INTO local.db.p SELECT id, repeat(cast(id AS string), 20), cast(id % 60 AS int) FROM range(1000000);
SELECT count(*), sum(length(s)), count(DISTINCT p) FROM local.db.p;
