#!/bin/sh
# The same answers on another road: SQL files under forced modes, then queries on more data than the memory budget.
#   small.sh SQL_RUNNER NILAS [BUDGET]
set -eu
runner=$(realpath "$1") nilas=$(realpath "$2") budget=${3:-32m}
here=$(cd "$(dirname "$0")/.." && pwd)
failed=0

mode() {
    name=$1
    shift
    if out=$("$runner" "$@" "$here"/tests/sql/*.test 2>&1); then
        printf '%-24s %s\n' "$name" "$(printf '%s\n' "$out" | tail -1)"
    else
        printf '%-24s FAILED\n%s\n' "$name" "$out"
        failed=1
    fi
}
[ -n "${ONLY_QUERIES:-}" ] || {
mode "budget of 64 MiB" --conf spark.nilas.memory=64m
mode "one worker" --conf spark.master=local
mode "three workers" --conf 'spark.master=local[3]'
mode "batches of 3 rows" --conf nilas.debug.batchRows=3
mode "batches of 1 row" --conf nilas.debug.batchRows=1
mode "everything spills" --any-order --conf nilas.debug.spill=true
mode "spills, 3 rows" --any-order --conf nilas.debug.spill=true --conf nilas.debug.batchRows=3
mode "no optional rules" --any-order --conf nilas.debug.disabledRules=-1
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
number=0
while IFS= read -r sql; do
    case $sql in --*|'') continue ;; esac
    number=$((number + 1))
    want=$("$nilas" sql -S --conf spark.nilas.memory=6g --conf spark.local.dir="$folder" -e "$sql" 2>&1) || true
    start=$(date +%s)
    got=$("$nilas" sql -S --conf spark.nilas.memory="$budget" --conf spark.local.dir="$folder" -e "$sql" 2>&1) || true
    if [ "$want" = "$got" ]; then
        printf 'query %-2d with %s: equal, %d s\n' "$number" "$budget" $(($(date +%s) - start))
    else
        printf 'query %d with %s DIFFERS: %s\n  wanted %s\n  got    %s\n' "$number" "$budget" "$sql" "$want" "$got"
        failed=1
    fi
done < "$here/tests/small/queries.sql"

# Writes with 48 MiB; and into 300 partitions with 64 descriptors, which still gives each partition one file.
got=$("$nilas" sql -S --conf spark.nilas.memory=48m --conf spark.local.dir="$folder" -f "$here/tests/small/writes.sql" 2>&1 |
    awk -F '\t' 'NF != 5' || true)
[ "$got" = "1750000	96888900	1000000
1500000	83047649	857143
1000000	117777800	60" ] || { printf 'writes DIFFER\n%s\n' "$got"; failed=1; }
got=$(ulimit -n 64; "$nilas" sql -S -e "CREATE TABLE local.db.q (id bigint, p int) PARTITIONED BY (p);
    INSERT INTO local.db.q SELECT id, cast(id % 300 AS int) FROM range(200000);
    SELECT count(*), count(DISTINCT p), sum(id) FROM local.db.q; SELECT count(*) FROM local.db.q.files" 2>&1)
[ "$got" = "200000	300	19999900000
300" ] || { printf 'partitions with 64 descriptors DIFFER\n%s\n' "$got"; failed=1; }
python3 "$here/tests/small/budget.py" "$nilas" || failed=1
exit $failed
