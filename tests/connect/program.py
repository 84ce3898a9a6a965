"""A long program: what PySpark programs call most, printed. Its output under Spark 4.0.1 is program.expected:

    SPARK_REMOTE=sc://host:port python program.py FOLDER > program.expected
"""
# Written densely: one line is one step, and the recorded output tells what it does.
# ruff: noqa
import datetime
import decimal
import sys

from pyspark.sql import Row, SparkSession, Window
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")
spark.conf.set("spark.sql.shuffle.partitions", "200")
folder = sys.argv[1]


def step(name, action):
    print("==", name)
    try:
        result = action()
        if result is not None:
            print(result)
    except Exception as error:
        print(type(error).__name__, getattr(error, "getCondition", lambda: None)(), str(error).split("\n")[0][:160].replace(folder, "FOLDER"))


people = spark.createDataFrame([(1,'Ann',34,decimal.Decimal('10.50'),datetime.date(2020,1,1)),(2,'Bob',None,decimal.Decimal('20.25'),None),(3,'Cy',51,None,datetime.date(2021,5,6)),(4,'Ann',29,decimal.Decimal('7.75'),datetime.date(2022,2,2))],'id int, name string, age int, pay decimal(10,2), d date')
orders = spark.createDataFrame([(1,100.0),(1,50.0),(3,20.0),(9,1.0)],['pid','amount'])
step('show', lambda: people.show())
step('show2', lambda: people.show(2,truncate=2,vertical=True))
step('schema', lambda: people.printSchema())
step('join', lambda: people.join(orders,people.id==orders.pid,'left').orderBy('id','amount').show())
step('selfjoin', lambda: people.alias('a').join(people.alias('b'),F.col('a.name')==F.col('b.name')).select('a.id','b.id').orderBy('a.id','b.id').show())
step('using', lambda: people.join(orders.withColumnRenamed('pid','id'),'id','outer').orderBy('id').show())
step('semi', lambda: people.join(orders,people.id==orders.pid,'left_anti').show())
step('group', lambda: people.groupBy('name').agg(F.count('*'),F.avg('age').alias('a'),F.max('pay'),F.collect_list('id')).orderBy('name').show())
step('pivot', lambda: people.groupBy('name').pivot('id').sum('age').orderBy('name').show())
step('cube', lambda: people.cube('name','id').count().orderBy('name','id').show())
w = Window.partitionBy('name').orderBy('id')
step('window', lambda: people.withColumn('rn',F.row_number().over(w)).withColumn('s',F.sum('age').over(w.rowsBetween(-1,0))).orderBy('id').show())
step('when', lambda: people.select('id',F.when(F.col('age')>30,'old').when(F.col('age').isNull(),'?').otherwise('young').alias('k'), (F.col('pay')*2).alias('p2'), F.col('name').substr(1,2), F.col('age').cast('string')).show())
step('na', lambda: people.na.fill({'age':0}).na.drop().orderBy('id').show())
step('na2', lambda: people.fillna(0).replace('Ann','Anna','name').orderBy('id').show())
step('desc', lambda: people.describe().show())
step('summary', lambda: people.select('age').summary('count','min','50%','max').show())
step('distinct', lambda: print(sorted(r[0] for r in people.select('name').distinct().collect())))
step('dedup', lambda: print(people.dropDuplicates(['name']).count()))
step('union', lambda: people.select('id').union(orders.select('pid')).orderBy('id').show())
step('unionbyname', lambda: people.select('id','name').unionByName(people.select('name','age'),allowMissingColumns=True).orderBy('name','id','age').show())
step('except', lambda: people.select('name').exceptAll(people.limit(1).select('name')).orderBy('name').show())
step('explode', lambda: spark.createDataFrame([(1,[1,2],{'a':'b'})],['i','l','m']).select('i',F.explode('l'),'m').show())
step('posexplode', lambda: spark.createDataFrame([(1,[1,2])],['i','l']).select(F.posexplode('l').alias('p','c')).show())
step('struct', lambda: people.select(F.struct('id','name').alias('s')).select('s.*',F.col('s').getField('name')).show())
step('hof', lambda: spark.range(2).select(F.transform(F.array(F.lit(1),F.col('id')),lambda x:x+1).alias('t'),F.filter(F.array(F.lit(1),F.lit(5)),lambda x:x>2),F.aggregate(F.array(F.lit(1),F.lit(5)),F.lit(0),lambda a,b:a+b)).show())
step('expr', lambda: people.selectExpr('id','age+1 as b','upper(name)').where('b > 30').show())
step('filter sql', lambda: people.filter("name like 'A%' and age is not null").orderBy(F.desc('age')).show())
step('sort', lambda: people.sort(F.asc_nulls_last('age'),F.col('id').desc()).show())
step('limit', lambda: people.orderBy('id').offset(1).limit(2).show())
step('tail', lambda: print(people.orderBy('id').tail(2)))
step('collect', lambda: print(people.orderBy('id').collect()))
step('first', lambda: print(people.orderBy('id').first(), people.head(1)==[people.first()], people.count(), people.isEmpty()))
step('pandas', lambda: print(people.orderBy('id').toPandas()))
step('dtypes', lambda: print(people.dtypes, people.columns))
step('view', lambda: (people.createOrReplaceTempView('p'), spark.sql('select name,count(*) c from p group by name order by name').show())[1])
step('args', lambda: spark.sql('select * from p where id = :i and name = :n',args={'i':1,'n':'Ann'}).show())
step('args2', lambda: spark.sql('select {c} from {d} where id < ?',args=[3],c=F.col('name'),d=people).show() )
step('csv w', lambda: people.coalesce(1).write.mode('overwrite').option('header',True).csv(folder + '/csv'))
step('csv r', lambda: spark.read.option('header',True).option('inferSchema',True).csv(folder + '/csv').orderBy('id').show())
step('json', lambda: (people.write.mode('overwrite').json(folder + '/json'), spark.read.json(folder + '/json').orderBy('id').show())[1])
step('schema read', lambda: spark.read.schema('a int, b string').csv(folder + '/csv').show())
step('missing', lambda: spark.read.parquet(folder + '/nosuch'))
step('nocol', lambda: people.select('nope'))
step('nocol2', lambda: people.filter(people.nope==1) )
step('ambiguous', lambda: people.join(people,people.id==people.id).show())
step('div', lambda: spark.range(1).select(F.lit(1)/F.lit(0)).show())
step('cast err', lambda: spark.range(1).select(F.lit('x').cast('int')).show())
step('cache', lambda: print(people.cache().count(), people.storageLevel))
step('unpivot', lambda: people.unpivot('id',['age'],'k','v').orderBy('id').show())
step('stat', lambda: print(orders.stat.corr('pid','amount'), people.crosstab('name','id').orderBy('name_id').collect(), orders.approxQuantile('amount',[0.5],0.0)))
step('randomSplit', lambda: print(sum(x.count() for x in spark.range(100).randomSplit([0.3,0.7],seed=1))))
step('withColumns', lambda: people.withColumns({'x':F.lit(1),'id':F.col('id')*10}).drop('d','zz').orderBy('id').show())
step('toDF', lambda: orders.toDF('a','b').show())
step('transform', lambda: orders.transform(lambda d:d.where('amount>10')).show())
step('ts', lambda: spark.createDataFrame([(datetime.datetime(2020,1,2,3,4,5,678),)],['t']).select('t',F.date_trunc('hour','t'),F.date_format('t','yyyy/MM/dd HH'),F.to_date('t'),F.unix_timestamp('t')).show(truncate=False))
step('json fn', lambda: spark.createDataFrame([('{"a":1,"b":[1,2]}',)],['j']).select(F.from_json('j','a int, b array<int>').alias('s'),F.get_json_object('j','$.b[1]')).select('s.a','s.b').show())
step('split', lambda: spark.createDataFrame([('a,b,c',)],['s']).select(F.split('s',',')[1],F.regexp_replace('s','[ac]','X'),F.concat_ws('-',F.lit('x'),'s'),F.length('s'),F.initcap(F.lit('hello world'))).show())
step('agg dict', lambda: people.agg({'age':'max','id':'sum'}).show())
step('hint', lambda: people.hint('broadcast').join(orders.repartition(3),people.id==orders.pid).count())
step('lit types', lambda: spark.range(1).select(F.lit(1.5),F.lit('a'),F.lit(None),F.lit(True),F.lit(datetime.date(2020,1,1)),F.lit([1,2]),F.lit(decimal.Decimal('1.10'))).show())
step('lit schema', lambda: spark.range(1).select(F.lit(1.5),F.lit(None),F.lit([1,2]),F.count('*').over(Window.partitionBy())).printSchema())
step('iterator', lambda: print([r.id for r in people.orderBy('id').toLocalIterator()]))
step('subquery', lambda: people.where(F.col('id').isin(1,3)).select(F.col('id'), people.age.between(30,60)).show())
step('merge schema', lambda: spark.createDataFrame([Row(a=1,b=Row(c='x',d=[1.0]))]).printSchema())
step('table fn', lambda: spark.tvf.explode(F.array(F.lit(1),F.lit(2))).show())
step('sql err', lambda: spark.sql('selec 1'))
step('table err', lambda: spark.table('nosuch.tbl').show())
step('groups', lambda: spark.range(100).groupBy((F.col('id') % 7).alias('k')).count().show())
step('shows', lambda: [spark.range(3).show(n, vertical=v) for n in (2, 5, 0) for v in (True, False)] and None)
