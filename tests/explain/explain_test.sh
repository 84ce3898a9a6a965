#!/bin/sh
# EXPLAIN ANALYZE through the shell: what each operator did, and what a scan did not have to read.
#   explain_test.sh NILAS
set -eu
nilas=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
sql() { "$nilas" sql -S --conf spark.local.dir="$folder" "$@" 2>&1; }
expect() { # TEXT PATTERN
    printf '%s\n' "$1" | grep -Eq "$2" || { printf 'missing: %s\nin: %s\n' "$2" "$1"; exit 1; }
}
# one worker: with several, the order in which rows of a partition arrive is not promised, nor how much its pages overlap
sql --conf spark.master='local[1]' -e "CREATE TABLE local.db.t (id bigint, p int, s string) PARTITIONED BY (p) TBLPROPERTIES ('write.parquet.page-row-limit'='1000');
        INSERT INTO local.db.t SELECT id, cast(id DIV 50000 AS int), concat('v', id) FROM range(200000) ORDER BY id"

out=$(sql -e "EXPLAIN ANALYZE SELECT s FROM local.db.t WHERE p = 2 AND id BETWEEN 120000 AND 120009")
expect "$out" '^== Analyzed Plan ==$'
expect "$out" 'Relation .*\(rows 10, time [0-9.]+ ms.*files 1 of 4, row groups 1 of 1, rows scanned [0-9]{2,5}, rows in pruned pages 4[0-9]{4}\)'
expect "$out" '^Total: rows 10, planning [0-9.]+ ms, running [0-9.]+ ms, memory [0-9.]+ MiB at most$'

out=$(sql --conf spark.nilas.memory=16m -e "EXPLAIN ANALYZE SELECT s, count(*) FROM local.db.t JOIN (SELECT id AS k, repeat(cast(id AS string), 20) AS x FROM range(200000)) ON id = k AND x <> '' GROUP BY s ORDER BY s")
expect "$out" 'Sort .*\(rows 200000, time [0-9.]+ ms, memory [0-9.]+ [KM]iB, spilled [0-9.]+ [KM]iB\)'
expect "$out" 'Aggregate .*\(rows 200000, time [0-9.]+ ms, memory [0-9.]+ [KM]iB, spilled [0-9.]+ [KM]iB\)'
expect "$out" 'Join .*\(rows 200000, time [0-9.]+ ms, memory [0-9.]+ [KM]iB, spilled [0-9.]+ [KM]iB\)'
expect "$out" '^Total: rows 200000.* memory (1[0-6]|[0-9])\.[0-9] MiB at most$'

expect "$(sql -e "EXPLAIN ANALYZE INSERT INTO local.db.t VALUES (1, 1, 'x')" || true)" 'runs queries only'
expect "$(sql -e "SELECT count(*) FROM local.db.t")" '^200000$'

# EXPLAIN of an INSERT shows how its rows are laid out, and writes nothing
out=$(sql -e "EXPLAIN INSERT INTO local.db.t SELECT id, 1, 'x' FROM range(10)")
expect "$out" '^AppendData IcebergWrite\(table=local.db.t, format=PARQUET, distribution=hash by p\)$'
expect "$out" '^   \+- Range \(0, 10, step=1\)'
sql -e "ALTER TABLE local.db.t WRITE LOCALLY ORDERED BY id DESC"
out=$(sql -e "EXPLAIN INSERT OVERWRITE local.db.t SELECT id, 1, 'x' FROM range(10)")
expect "$out" '^OverwriteByExpression IcebergWrite\(table=local.db.t, format=PARQUET, distribution=range\)$'
expect "$out" '^\+- Sort \[p#[0-9]+ ASC NULLS FIRST, id#[0-9]+L DESC NULLS LAST\]'
expect "$(sql -e "SELECT count(*) FROM local.db.t")" '^200000$'
echo "EXPLAIN: ok"
