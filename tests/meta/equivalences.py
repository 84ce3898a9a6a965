"""Pairs of statements that mean the same: what one operator says, said by others. Used by random_oracles.py.

Each method gives two texts whose rows are equal whatever the tables hold; tables and predicates are random. Sums are of
whole numbers and decimals, so that no order of addition shows.
"""
from random_queries import FUNCTIONS, LITERALS, COLUMNS, Generator

KEYS = ["i", "s", "b", "dt", "n", "l", "ts", "st.a", "i % 3", "length(s)", "year(dt)", "to_json(arr)", "d + 0.0D"]
INTERVALS = ["make_dt_interval({int} % 5)", "make_dt_interval(0, {int} % 30, {int} % 100)", "({timestamp} - TIMESTAMP '2000-01-01 00:00:00')",
             "(({date} - DATE '2000-01-01') * 2)", "(CAST({int} % 9 AS INTERVAL DAY) + INTERVAL '1 02:03:04' DAY TO SECOND)", "coalesce({interval}, {interval})",
             "if({boolean}, {interval}, {interval})", "(-{interval})", "greatest({interval}, INTERVAL '3' DAY)"]
MORE = {
    "interval": INTERVALS,
    "boolean": ["({interval} > {interval})", "({interval} = INTERVAL '1' DAY)", "({interval} IN (INTERVAL '0' DAY, {interval}))", "(({timestamp} + {interval}) > {timestamp})",
                "({structs}.a = {int})", "({structs} < {structs})", "({structs} IS NULL)", "exists({structs}.c, x -> x.y = {string})",
                "({date} BETWEEN DATE '2024-01-01' AND DATE '2024-12-31')", "({timestamp} >= TIMESTAMP '2024-01-01 00:00:00')", "({string} LIKE 'a%')", "({bigint} > 5)",
                "({decimal} = 1.25BD)", "({int} BETWEEN 1 AND 7)", "({int} IN (1, 2, 3, 5, 7, 100, 2147483647, -1, 12, 13, 14, 15))", "({string} IN ('x', 'abc', ' pad', 'zz'))",
                "({string} >= 'abc')", "({date} < DATE '2024-02-29')", "(EXTRACT(DAY FROM {interval}) > 1)", "(map_keys({counts})[0] = {string})"],
    "int": ["{structs}.a", "{structs}.c[0].x", "size({structs}.c)", "extract(DAY FROM {interval})"],
    "string": ["{structs}.b", "{structs}.c[1].y", "CAST({interval} AS STRING)", "to_json({structs})", "CAST({structs} AS STRING)"],
    "ints": ["{structs}.c.x", "transform({structs}.c, q -> q.x + 1)"],
    "structs": ["named_struct('a', {int}, 'b', {string}, 'c', array(named_struct('x', {int}, 'y', {string})))", "if({boolean}, {structs}, {structs})", "coalesce({structs}, {structs})"],
    "timestamp": ["({timestamp} + {interval})", "({date} + {interval})"],
}
STRUCT = "STRUCT<a: INT, b: STRING, c: ARRAY<STRUCT<x: INT, y: STRING>>>"


class Equivalences(Generator):
    """Generator with intervals and structs, and the pairs. A user gives table(): a table's name."""
    functions = {kind: FUNCTIONS.get(kind, []) + MORE.get(kind, []) for kind in [*FUNCTIONS, "interval", "structs"]}
    literals = {**LITERALS, "interval": ["INTERVAL '1' DAY", "INTERVAL '0 00:00:01' DAY TO SECOND", "CAST(NULL AS INTERVAL DAY TO SECOND)"], "structs": [f"CAST(NULL AS {STRUCT})"]}
    columns = {**COLUMNS, "structs": ["st"], "int": ["i", "i", "st.a"], "string": ["s", "s", "st.b"]}

    def expression(self, kind, depth, qualifier=""):
        if depth <= 0 or self.random.random() < 0.25:
            if kind in self.columns and self.random.random() < 0.75:
                return qualifier + self.random.choice(self.columns[kind])
            return self.random.choice(self.literals[kind])
        return self.fill(self.random.choice(self.functions[kind]), depth - 1, qualifier)

    def predicate(self, qualifier="t.", depth=3):
        return self.expression("boolean", depth, qualifier)

    def key(self):
        return self.random.choice(KEYS)

    def rows(self, qualifier="t."):
        """A relation with the columns of the tables."""
        table = self.table()
        return self.random.choice([table, f"(SELECT * FROM {table} t WHERE {self.predicate('t.', 2)})", f"(SELECT * FROM {table} t WHERE t.id < {self.random.randrange(700)})"])

    def few(self):
        return f"(SELECT * FROM {self.table()} t WHERE t.id < {self.random.choice([70, 300])} AND ({self.predicate('t.', 2)}))"

    def equality(self):
        return self.random.choice(["x.i = y.i", "x.s = y.s AND x.b = y.b", "x.id = y.id", "x.dt = y.dt AND x.i > y.i", "x.i <=> y.i", "x.st.a = y.i", "x.l = y.i", "x.n = y.n AND x.s <=> y.s",
                                   "x.ts = y.ts AND x.d < y.d", "x.id = y.id + 1", "x.s = y.s AND length(x.s) + y.i > 3", "x.i > y.i AND x.s = y.st.b", "x.i = y.i OR x.id = y.id", "x.arr = y.arr", "x.d = y.d"])

    @staticmethod
    def hashed(*columns):
        return f"count(*), sum(coalesce(hash({', '.join(columns)}), 0))"

    # ---- grouping ----

    def grouping_sets(self):
        rows, a, b = self.rows(), *self.random.sample(KEYS, 2)
        values = "count(*), sum(n), max(id), count(DISTINCT s), sum(CAST(i AS BIGINT)) FILTER (WHERE b)"
        source = f"(SELECT *, {a} AS k1, {b} AS k2 FROM {rows})"
        form, sets = self.random.choice([("ROLLUP (k1, k2)", [3, 2, 0]), ("CUBE (k1, k2)", [3, 2, 1, 0]), ("GROUPING SETS ((k1), (k2), (k1))", [2, 1, 2]), ("GROUPING SETS ((k1, k2), ())", [3, 0]),
                                         ("k1, ROLLUP (k2)", [3, 2]), ("GROUPING SETS (ROLLUP (k1, k2), (k2))", [3, 2, 0, 1])])
        parts = []
        for one in sets:
            keys = [k for k, bit in (("k1", 2), ("k2", 1)) if one & bit]
            shown = ", ".join(k if k in keys else f"nullif(max({k}), max({k}))" for k in ("k1", "k2"))
            group = f"GROUP BY {', '.join(keys)}" if keys else "HAVING count(*) > 0"  # of no rows there is no total here
            parts.append(f"SELECT {shown}, {3 - one}, {values} FROM {source} {group}")
        return f"SELECT k1, k2, CAST(grouping_id(k1, k2) AS INT), {values} FROM {source} GROUP BY {form}", " UNION ALL ".join(parts)

    def having(self):
        rows, key = self.rows(), self.random.choice(["i", "s", "dt", "n", "b", "ts", "l"])
        p = self.predicate("g.", 2)
        for other in ("i", "s", "dt", "n", "b", "ts", "l", "d", "arr", "m", "st"):
            if other != key:
                p = p.replace(f"g.{other}", f"q.{other}")
        row = "(SELECT max(i) i, max(l) l, max(d) d, max(n) n, max(s) s, max(dt) dt, max(ts) ts, max(b) b, max(arr) arr, max(st) st, map('x', 3) m FROM c)"
        inner = f"SELECT g.{key} AS k, count(*) AS c, sum(g.n) AS t FROM {rows} g GROUP BY g.{key}"
        p_outer = p.replace(f"g.{key}", "w.k")
        return (f"SELECT w.k, w.c, w.t FROM ({inner}) w CROSS JOIN {row} q WHERE {p_outer}",
                f"SELECT g.{key} AS k, count(*) AS c, sum(g.n) AS t FROM {rows} g CROSS JOIN {row} q WHERE {p} GROUP BY g.{key}")

    def distincts(self):
        rows, a, b, k = self.rows(), *self.random.sample(KEYS, 3)
        return self.random.choice([
            (f"SELECT DISTINCT {a} AS x, {b} AS y FROM {rows}", f"SELECT {a} AS x, {b} AS y FROM {rows} GROUP BY 1, 2"),
            (f"SELECT count(DISTINCT {a}), count(DISTINCT {b}), sum(DISTINCT n), count(DISTINCT {a}, {b}), count(*) FROM {rows}",
             f"SELECT (SELECT count(x) FROM (SELECT DISTINCT {a} AS x FROM {rows})), (SELECT count(x) FROM (SELECT DISTINCT {b} AS x FROM {rows})), (SELECT sum(n) FROM (SELECT n FROM {rows} GROUP BY n)), "
             f"(SELECT count_if(x IS NOT NULL AND y IS NOT NULL) FROM (SELECT DISTINCT {a} AS x, {b} AS y FROM {rows})), (SELECT count(*) FROM {rows})"),
            (f"SELECT {k} AS k, count(DISTINCT {a}), max(id), count(DISTINCT {b}) FROM {rows} GROUP BY {k}",
             f"WITH r AS (SELECT *, {k} AS k, {a} AS a, {b} AS bb FROM {rows}) SELECT x.k, x.v, y.v, z.v FROM (SELECT k, count(a) AS v FROM (SELECT DISTINCT k, a FROM r) GROUP BY k) x "
             f"JOIN (SELECT k, max(id) AS v FROM r GROUP BY k) y ON x.k <=> y.k JOIN (SELECT k, count(bb) AS v FROM (SELECT DISTINCT k, bb FROM r) GROUP BY k) z ON x.k <=> z.k"),
        ])

    def aggregates(self):
        rows, k, p = self.rows(), self.key(), self.predicate("t.", 2)
        return self.random.choice([
            (f"SELECT {k} AS k, count(*) FILTER (WHERE {p}), sum(t.n) FILTER (WHERE {p}), min(t.s) FILTER (WHERE {p}) FROM {rows} t GROUP BY 1",
             f"SELECT {k} AS k, count(CASE WHEN {p} THEN 1 END), sum(CASE WHEN {p} THEN t.n END), min(CASE WHEN {p} THEN t.s END) FROM {rows} t GROUP BY 1"),
            (f"SELECT k, max_by(s, id), min_by(arr, id), max(struct(id, i)).i FROM (SELECT *, {k} AS k FROM {rows}) GROUP BY k",
             f"SELECT x.k, x.s, y.arr, x.i FROM (SELECT * FROM (SELECT *, {k} AS k, row_number() OVER (PARTITION BY {k} ORDER BY id DESC) AS q FROM {rows}) WHERE q = 1) x "
             f"JOIN (SELECT * FROM (SELECT *, {k} AS k, row_number() OVER (PARTITION BY {k} ORDER BY id) AS q FROM {rows}) WHERE q = 1) y ON x.k <=> y.k"),
            (f"SELECT {k} AS k, sum(make_dt_interval(i % 5)), max(make_dt_interval(i % 5)), count(DISTINCT make_dt_interval(i % 5)) FROM {rows} GROUP BY 1",
             f"SELECT {k} AS k, make_dt_interval(CAST(sum(i % 5) AS INT)), make_dt_interval(max(i % 5)), count(DISTINCT i % 5) FROM {rows} GROUP BY 1"),
            (f"SELECT k, size(collect_list(s)), array_sort(collect_set(i)), array_join(array_sort(collect_list(s)), '/') FROM (SELECT *, {k} AS k FROM {rows}) GROUP BY k",
             f"SELECT k, count(s), coalesce(max(v), array()), coalesce(max(w), '') FROM (SELECT *, array_sort(collect_set(i) OVER (PARTITION BY k)) AS v, "
             f"array_join(array_sort(collect_list(s) OVER (PARTITION BY k)), '/') AS w FROM (SELECT *, {k} AS k FROM {rows})) GROUP BY k"),
            (f"SELECT * FROM (SELECT i % 3 AS r, b, n FROM {rows}) PIVOT (sum(n) AS t, count(*) AS c FOR r IN (0 AS zero, 1 AS one, 2 AS two))",
             f"SELECT b, sum(n) FILTER (WHERE i % 3 = 0), nullif(count_if(i % 3 = 0), 0), sum(n) FILTER (WHERE i % 3 = 1), nullif(count_if(i % 3 = 1), 0), "
             f"sum(n) FILTER (WHERE i % 3 = 2), nullif(count_if(i % 3 = 2), 0) FROM {rows} GROUP BY b"),
            (f"SELECT * FROM (SELECT id, s, st.b AS u FROM {rows}) UNPIVOT (v FOR name IN (s, u))",
             f"SELECT id, 's', s FROM {rows} WHERE s IS NOT NULL UNION ALL SELECT id, 'u', st.b FROM {rows} WHERE st.b IS NOT NULL"),
            (f"SELECT sum(n * n), sum(CAST(n AS DECIMAL(38,10))), min(n - 1), sum(n) FROM {rows}",
             f"SELECT CAST(sum(q * q) AS DECIMAL(38,0)) * 0.0001BD, CAST(sum(q) AS DECIMAL(20,0)) * 0.0100000000BD, CAST(min(q - 100) AS DECIMAL(20,0)) * 0.01BD, CAST(sum(q) AS DECIMAL(20,0)) * 0.01BD "
             f"FROM (SELECT CAST(n * 100 AS BIGINT) AS q FROM {rows})"),
        ])

    # ---- joins and subqueries ----

    def joins(self):
        left, right, on = self.few(), self.random.choice([self.few(), "(SELECT cid AS id, * EXCEPT (cid) FROM c)"]), self.equality()
        mirror = f"SELECT 1 FROM {left} x WHERE {on}"
        return self.random.choice([
            (f"SELECT {self.hashed('x.id', 'y.id', 'x.s', 'y.i')} FROM {left} x FULL JOIN {right} y ON {on}",
             f"SELECT sum(c), sum(h) FROM (SELECT count(*) c, sum(coalesce(hash(x.id, y.id, x.s, y.i), 0)) h FROM {left} x LEFT JOIN {right} y ON {on} UNION ALL "
             f"SELECT count(*), sum(coalesce(hash(CAST(NULL AS BIGINT), y.id, CAST(NULL AS STRING), y.i), 0)) FROM {right} y WHERE NOT EXISTS ({mirror}))"),
            (f"SELECT {self.hashed('x.id', 'y.id')} FROM {left} x LEFT JOIN {right} y ON {on}",
             f"SELECT {self.hashed('x.id', 'y.id')} FROM {right} y RIGHT JOIN {left} x ON {on}"),
            (f"SELECT {self.hashed('x.id', 'y.id', 'y.s')} FROM {left} x JOIN {right} y ON {on}", f"SELECT {self.hashed('x.id', 'y.id', 'y.s')} FROM {left} x CROSS JOIN {right} y WHERE ({on}) IS TRUE"),
            (f"SELECT {self.hashed('x.id', 'x.s')} FROM {left} x LEFT SEMI JOIN {right} y ON {on}", f"SELECT {self.hashed('id', 's')} FROM (SELECT DISTINCT x.id, x.s FROM {left} x, {right} y WHERE {on})"),
            (f"SELECT {self.hashed('x.id', 'x.s')} FROM {left} x LEFT ANTI JOIN {right} y ON {on}", f"SELECT {self.hashed('x.id', 'x.s')} FROM {left} x LEFT JOIN {right} y ON {on} WHERE y.id IS NULL"),
            (f"SELECT {self.hashed('x.id', 'x.s')} FROM {left} x WHERE EXISTS (SELECT 1 FROM {right} y WHERE {on}) OR x.b", f"SELECT {self.hashed('x.id', 'x.s')} FROM {left} x LEFT JOIN "
             f"(SELECT DISTINCT x.id AS found FROM {left} x JOIN {right} y ON {on}) f ON f.found = x.id WHERE f.found IS NOT NULL OR x.b"),
        ])

    def runtime_filter(self):
        """A selective small side filters the scan of the large one while it runs."""
        table, q = self.table(), self.predicate("c.", 2)
        on, loose = self.random.choice([("t.i = c.i", "t.i + 0L = c.i + 0L"), ("t.s = c.s", "concat(t.s, '') = concat(c.s, '')"), ("t.id = c.cid", "t.id - 0 = c.cid - 0"), ("t.dt = c.dt", "date_add(t.dt, 0) = date_add(c.dt, 0)"),
                                        ("t.ts = c.ts", "(t.ts = c.ts) IS TRUE"), ("t.n = c.n", "t.n + 0.00BD = c.n + 0.00BD"), ("t.b = c.b AND t.s = c.s", "(t.b = c.b) IS TRUE AND (t.s = c.s) IS TRUE"), ("t.l = c.i", "(t.l = c.i) IS TRUE"),
                                        ("t.st.a = c.i", "(t.st.a = c.i) IS TRUE"), ("t.d = c.d", "(t.d = c.d) IS TRUE")])
        p = self.predicate("t.", 2)
        return (f"SELECT {self.hashed('t.id', 'c.cid')} FROM {table} t JOIN c ON {on} WHERE ({q}) AND ({p})",
                f"SELECT {self.hashed('t.id', 'c.cid')} FROM (SELECT * FROM {table} t WHERE {p}) t CROSS JOIN (SELECT * FROM c WHERE {q}) c WHERE {loose}")

    def subqueries(self):
        rows, q, p = self.rows(), self.predicate("c.", 2), self.predicate("t.", 2)
        x = self.random.choice(["i", "s", "dt", "n", "l", "st.a"])
        y = "i" if x in ("l", "st.a") else x
        corr = self.random.choice(["true", "c.b = t.b", "c.s = t.s"])
        table = self.table()
        return self.random.choice([
            (f"SELECT {self.hashed('t.id')} FROM {rows} t WHERE t.{x} IN (SELECT c.{y} FROM c WHERE {corr} AND ({q}))",
             f"SELECT {self.hashed('t.id')} FROM {rows} t WHERE (SELECT count(*) FROM c WHERE {corr} AND ({q}) AND c.{y} = t.{x}) > 0"),
            (f"SELECT {self.hashed('t.id')} FROM {rows} t WHERE t.{x} NOT IN (SELECT c.{y} FROM c WHERE {corr} AND ({q}))",
             f"SELECT {self.hashed('t.id')} FROM {rows} t WHERE NOT EXISTS (SELECT 1 FROM c WHERE ({corr}) AND ({q}) AND (c.{y} = t.{x}) IS NOT FALSE)"),
            (f"SELECT {self.hashed('t.id')} FROM {rows} t WHERE NOT EXISTS (SELECT 1 FROM c WHERE {corr} AND ({q}) AND c.i > t.i)",
             f"SELECT {self.hashed('t.id')} FROM {rows} t LEFT JOIN (SELECT DISTINCT t.id AS gone FROM {rows} t, c WHERE {corr} AND ({q}) AND c.i > t.i) g ON g.gone = t.id WHERE g.gone IS NULL"),
            (f"SELECT t.id, (SELECT sum(c.n) FROM c WHERE c.s = t.s AND ({q})), (SELECT count(*) FROM c WHERE c.s = t.s AND ({q})) FROM {rows} t WHERE t.id < 200",
             f"SELECT t.id, v, coalesce(k, 0) FROM {rows} t LEFT JOIN (SELECT c.s AS g, sum(c.n) AS v, count(*) AS k FROM c WHERE {q} GROUP BY c.s) w ON w.g = t.s WHERE t.id < 200"),
            (f"SELECT t.id, z.v FROM {rows} t, LATERAL (SELECT max(c.cid) AS v FROM c WHERE c.b = t.b AND ({q})) z WHERE t.id < 200",
             f"SELECT t.id, v FROM {rows} t LEFT JOIN (SELECT c.b AS g, max(c.cid) AS v FROM c WHERE {q} GROUP BY c.b) w ON w.g = t.b WHERE t.id < 200"),
            (f"SELECT {self.hashed('t.id')} FROM {table} t WHERE t.id IN (SELECT t.id FROM {self.table()} t WHERE {p})", f"SELECT {self.hashed('t.id')} FROM {table} t WHERE {p}"),
            (f"SELECT {self.hashed('t.id')} FROM {table} t WHERE (t.i, t.s) IN (SELECT c.i, c.s FROM c WHERE {q}) AND ({p})",
             f"SELECT {self.hashed('t.id')} FROM {table} t WHERE EXISTS (SELECT 1 FROM c WHERE c.i = t.i AND c.s = t.s AND ({q})) AND ({p})"),
        ])

    def ctes(self):
        body = self.random.choice([f"SELECT id, i, s, b, n, dt FROM {self.rows()}", f"SELECT max(id) AS id, i, max(s) AS s, b, sum(n) AS n, max(dt) AS dt FROM {self.rows()} GROUP BY i, b",
                                   f"SELECT id, i, s, b, n, dt FROM (SELECT *, row_number() OVER (PARTITION BY s ORDER BY id) AS q FROM {self.rows()}) WHERE q < 40"])
        form = self.random.choice([
            "SELECT count(*), sum(x.id), sum(y.n) FROM w x JOIN w y ON x.id = y.id WHERE y.b", "SELECT x.s, count(*), sum(x.n) FROM w x WHERE x.id > (SELECT avg(id) FROM w) GROUP BY x.s",
            "SELECT count(*), sum(x.id) FROM w x LEFT JOIN (SELECT i, count(*) AS k FROM w WHERE b GROUP BY i) y ON x.i = y.i WHERE coalesce(y.k, 0) < 3",
            "SELECT id, s FROM w WHERE i > 1 EXCEPT SELECT id, s FROM w WHERE b", "SELECT s, n FROM w WHERE b UNION ALL SELECT s, n FROM w WHERE NOT b UNION ALL SELECT s, n FROM w WHERE b IS NULL",
            "SELECT count(*), sum(id) FROM w WHERE s IN (SELECT s FROM w WHERE i = 2) AND NOT EXISTS (SELECT 1 FROM w y WHERE y.id = w.id + 1)"])
        text = form.replace(" w.id + 1", " z.id + 1").replace("FROM w WHERE s IN", "FROM w z WHERE s IN")
        for before in ("FROM", "JOIN"):
            text = text.replace(f"{before} w", f"{before} ({body})")
        return f"WITH w AS ({body}) {form.replace(' w.id + 1', ' z.id + 1').replace('FROM w WHERE s IN', 'FROM w z WHERE s IN')}", text

    def sets(self):
        k1, k2 = self.random.sample(KEYS, 2)
        a, b = (f"SELECT {k1} AS k1, {k2} AS k2 FROM {self.rows()}" for _ in range(2))
        same = "a.k1 <=> b.k1 AND a.k2 <=> b.k2"
        counted = f"SELECT k1, k2, sum(u) AS u, sum(v) AS v FROM (SELECT k1, k2, 1 AS u, 0 AS v FROM ({a}) UNION ALL SELECT k1, k2, 0, 1 FROM ({b})) GROUP BY k1, k2"
        return self.random.choice([
            (f"{a} INTERSECT {b}", f"SELECT DISTINCT k1, k2 FROM ({a}) a WHERE EXISTS (SELECT 1 FROM ({b}) b WHERE {same})"), (f"{a} EXCEPT {b}", f"SELECT k1, k2 FROM ({a}) a LEFT ANTI JOIN ({b}) b ON {same} GROUP BY k1, k2"),
            (f"{a} UNION {b}", f"SELECT k1, k2 FROM ({a} UNION ALL {b}) GROUP BY k1, k2"), (f"{a} EXCEPT ALL {b}", f"SELECT k1, k2 FROM ({counted}) LATERAL VIEW explode(sequence(1, u - v)) AS e WHERE u > v"),
            (f"{a} INTERSECT ALL {b}", f"SELECT k1, k2 FROM ({counted}) LATERAL VIEW explode(sequence(1, least(u, v))) AS e WHERE least(u, v) > 0"),
        ])

    # ---- windows, order, nested ----

    def windows(self):
        rows = self.few()
        k = self.random.choice(["b", "i % 3", "s", "dt", "1"])
        source = f"(SELECT *, {k} AS k, row_number() OVER (PARTITION BY {k} ORDER BY id) AS rn FROM {rows})"
        def over(frame):
            return ", ".join(f"{one} OVER (PARTITION BY k ORDER BY {frame})" for one in ("count(*)", "count(s)", "sum(n)", "min(s)", "max(id)", "max(dt)"))

        def bound(at, side):
            return f"UNBOUNDED {side}" if at is None else "CURRENT ROW" if at == 0 else f"{abs(at)} {'PRECEDING' if at < 0 else 'FOLLOWING'}"

        low, high = self.random.choice([(-2, 1), (-3, 0), (0, 2), (1, 3), (-4, -2), (None, 0), (None, -1), (0, None), (2, None), (None, None)])
        frame = f"BETWEEN {bound(low, 'PRECEDING')} AND {bound(high, 'FOLLOWING')}"
        empty = "x.id, count(y.id), count(y.s), sum(y.n), min(y.s), max(y.id), max(y.dt)"
        o = self.random.choice(["CAST(i AS BIGINT)", "id % 7", "length(s)", "CAST(n AS DECIMAL(20,2))", "st.a % 9"])
        order = f"(SELECT *, {o} AS o, {k} AS k FROM {rows})"
        descending = self.random.random() < 0.4
        lo, hi = (None if high is None else -high, None if low is None else -low) if descending else (low, high)
        within = " AND ".join([f"y.o >= x.o + ({lo})"] * (lo is not None) + [f"y.o <= x.o + ({hi})"] * (hi is not None)) or "true"
        nulls_first = not descending  # a row without o sees its peers, and what lies on the open side
        to_null = f"(x.o IS NULL AND (y.o IS NULL OR {'true' if (high is None if nulls_first else low is None) else 'false'}))"
        from_value = f"(x.o IS NOT NULL AND (({within}) IS TRUE AND y.o IS NOT NULL OR y.o IS NULL AND {'true' if (low is None if nulls_first else high is None) else 'false'}))"
        smaller = "(y.o < x.o OR (y.o IS NULL AND x.o IS NOT NULL))"
        step = self.random.randint(1, 4)
        return self.random.choice([
            (f"SELECT id, {over('id ROWS ' + frame)} FROM {source}",
             f"SELECT {empty} FROM {source} x LEFT JOIN {source} y ON x.k <=> y.k " + "".join(f"AND y.rn {op} x.rn + ({at}) " for op, at in ((">=", low), ("<=", high)) if at is not None) + "GROUP BY x.id"),
            (f"SELECT id, {over('o' + (' DESC' if descending else '') + ' RANGE ' + frame)} FROM {order}", f"SELECT {empty} FROM {order} x LEFT JOIN {order} y ON x.k <=> y.k AND ({to_null} OR {from_value}) GROUP BY x.id"),
            (f"SELECT id, rank() OVER (PARTITION BY k ORDER BY o), dense_rank() OVER (PARTITION BY k ORDER BY o) FROM {order}",
             f"SELECT x.id, 1 + count(y.id), 1 + count(DISTINCT y.o) + max(CASE WHEN y.id IS NOT NULL AND y.o IS NULL THEN 1 ELSE 0 END) FROM {order} x LEFT JOIN {order} y ON x.k <=> y.k AND {smaller} GROUP BY x.id"),
            (f"SELECT id, lag(s, {step}, 'none') OVER (PARTITION BY k ORDER BY id), lead(arr, {step}) OVER (PARTITION BY k ORDER BY id) FROM {source}",
             f"SELECT x.id, if(y.id IS NULL, 'none', y.s), z.arr FROM {source} x LEFT JOIN {source} y ON x.k <=> y.k AND y.rn = x.rn - {step} LEFT JOIN {source} z ON x.k <=> z.k AND z.rn = x.rn + {step}"),
            (f"SELECT id, last_value(s) IGNORE NULLS OVER (PARTITION BY k ORDER BY id), first_value(i, true) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM {source}",
             f"SELECT x.id, max_by(y.s, y.id) FILTER (WHERE y.s IS NOT NULL AND y.id <= x.id), min_by(y.i, y.id) FILTER (WHERE y.i IS NOT NULL AND y.id >= x.id) FROM {source} x LEFT JOIN {source} y ON x.k <=> y.k GROUP BY x.id"),
            (f"SELECT id, sum(n) OVER (PARTITION BY k), count(*) OVER (PARTITION BY k), max(s) OVER (PARTITION BY k) FROM {source}",
             f"SELECT x.id, w.t, w.c, w.m FROM {source} x JOIN (SELECT k, sum(n) AS t, count(*) AS c, max(s) AS m FROM {source} GROUP BY k) w ON x.k <=> w.k"),
        ])

    def limits(self):
        rows, order = self.rows(), self.random.choice(["s DESC, id", "d, id DESC", "n NULLS LAST, id", "dt DESC NULLS FIRST, s, id", "i, l, id", "st, id", "arr DESC, id", "ts, b, id", "length(s), i DESC NULLS FIRST, id"])
        count, skipped = self.random.choice([0, 1, 7, 40, 1000]), self.random.choice([0, 0, 3, 500])
        return (f"SELECT id, s, d, n FROM {rows} ORDER BY {order} LIMIT {count} OFFSET {skipped}",
                f"SELECT id, s, d, n FROM (SELECT *, row_number() OVER (ORDER BY {order}) AS rn FROM {rows}) WHERE rn > {skipped} AND rn <= {count + skipped} ORDER BY rn LIMIT 100000")

    def nested(self):
        rows = self.rows()
        return self.random.choice([
            (f"SELECT count(e), sum(e % 100), count(*) FROM {rows} LATERAL VIEW OUTER explode(arr) AS e", f"SELECT sum(coalesce(array_size(filter(arr, x -> x IS NOT NULL)), 0)), "
             f"sum(aggregate(filter(arr, x -> x IS NOT NULL), 0, (a, x) -> a + x % 100)), sum(CASE WHEN arr IS NULL OR size(arr) = 0 THEN 1 ELSE size(arr) END) FROM {rows}"),
            (f"SELECT count(*), sum(id) FROM {rows} t WHERE exists(arr, x -> x > 2)",
             f"SELECT count(*), sum(id) FROM {rows} t WHERE id IN (SELECT id FROM {rows} LATERAL VIEW explode(arr) AS e WHERE e > 2)"),
            (f"SELECT k, count(*), sum(v % 10) FROM {rows} LATERAL VIEW explode(m) AS k, v GROUP BY k", f"SELECT k, count(*), sum(m[k] % 10) FROM {rows} LATERAL VIEW explode(map_keys(m)) AS k GROUP BY k"),
            (f"SELECT x, count(*), max(y), sum(t.id) FROM {rows} t, LATERAL inline(t.st.c) GROUP BY x", f"SELECT e.x, count(*), max(e.y), sum(id) FROM {rows} LATERAL VIEW explode(st.c) AS e GROUP BY e.x"),
            (f"SELECT st, count(*) FROM {rows} GROUP BY st", f"SELECT struct(a, b, c), count(*) FROM (SELECT st.a AS a, st.b AS b, st.c AS c FROM {rows} WHERE st IS NOT NULL) GROUP BY a, b, c "
             f"UNION ALL SELECT CAST(NULL AS {STRUCT}), count(*) FROM {rows} WHERE st IS NULL HAVING count(*) > 0"),
        ])

    def equivalence(self):
        return self.random.choice([self.grouping_sets, self.having, self.distincts, self.aggregates, self.joins, self.joins, self.runtime_filter, self.subqueries, self.subqueries, self.ctes, self.sets,
                                   self.windows, self.windows, self.limits, self.nested])()
