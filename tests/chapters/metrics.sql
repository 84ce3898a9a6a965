-- Columns without metrics: not even their size is kept.
CREATE NAMESPACE lake.metrics;

CREATE TABLE lake.metrics.modes (n int, c int, t string, f string, d double) USING iceberg TBLPROPERTIES ('write.metadata.metrics.default'='none', 'write.metadata.metrics.column.c'='counts', 'write.metadata.metrics.column.t'='truncate(3)', 'write.metadata.metrics.column.f'='full');

INSERT INTO lake.metrics.modes SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 2, 'abcdef', 'abcdefghijklmnopqrstuvwxyz', 1.0D), (NULL, NULL, NULL, NULL, double('NaN')) AS v(n, c, t, f, d);

SELECT map_keys(column_sizes), value_counts, null_value_counts, nan_value_counts, lower_bounds[2], lower_bounds[3], lower_bounds[4], upper_bounds[3], upper_bounds[4] FROM lake.metrics.modes.files;

SELECT readable_metrics.n.value_count, readable_metrics.c.value_count, readable_metrics.c.lower_bound, readable_metrics.t.lower_bound, readable_metrics.f.upper_bound FROM lake.metrics.modes.files;

DROP TABLE lake.metrics.modes;
