{% macro log_counts() %}
  {% if execute and flags.WHICH in ('run', 'build') %}
    {% set orders = api.Relation.create(schema=target.schema, identifier='stg_orders') %}
    {% set rows = run_query('select count(*) as n, sum(amount) as total from ' ~ orders) %}
    {{ log('rows ' ~ rows.rows[0][0] ~ ' total ' ~ rows.rows[0][1], info=true) }}
  {% endif %}
{% endmacro %}
