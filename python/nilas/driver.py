"""What `nilas submit` and `nilas pyspark` put between Python and a PySpark program.

The program is the user's, unchanged; SPARK_REMOTE leads its sessions to nilas. Spark Connect's client leaves out the
SparkContext: this module supplies the members that ordinary programs call on it, when pyspark is imported, and runs
the program as `python program.py` would.

The text of this file is part of the `nilas` program, which hands it to Python through a file descriptor
(src/shell/python.c); start() begins. Its names stay out of the program's __main__.
"""

import importlib.abc
import importlib.util
import os
import sys
import types

SOURCE_NAMES = ("<nilas>", "<string>")
NEEDED = ("pyspark", "grpc", "grpc_status", "pandas", "pyarrow", "google.protobuf")


class LocalBroadcast:
    """A broadcast variable where driver and workers share one machine: the value itself."""

    def __init__(self, value):
        self.value = value

    def unpersist(self, blocking=False):
        pass

    def destroy(self, blocking=False):
        self.value = None

    def __reduce__(self):
        # Functions of the program carry it to Python workers, where this module is not.
        return types.SimpleNamespace, (), {"value": self.value}


class ConnectContext:
    """The SparkContext of a Spark Connect session: what means something without a JVM. The rest says so by name."""

    PACKAGE_EXTENSIONS = (".zip", ".egg", ".jar")

    def __init__(self, session):
        self._session = session
        self._properties = {}
        self._files = []
        self._archives = []

    @property
    def version(self):
        return self._session.version

    @property
    def appName(self):
        return self._session.conf.get("spark.app.name", "nilas")

    @property
    def applicationId(self):
        return self._session.conf.get("spark.app.id", None)

    @property
    def master(self):
        return self._session.conf.get("spark.master", "local[*]")

    @property
    def defaultParallelism(self):
        return int(self._session.conf.get("spark.default.parallelism", None) or len(os.sched_getaffinity(0)))

    @property
    def defaultMinPartitions(self):
        return min(self.defaultParallelism, 2)

    @property
    def pythonVer(self):
        return "%d.%d" % sys.version_info[:2]

    @property
    def pythonExec(self):
        return sys.executable

    @property
    def startTime(self):
        return int(os.environ.get("NILAS_START_TIME", "0"))

    @property
    def uiWebUrl(self):
        return None

    def sparkUser(self):
        import getpass

        return getpass.getuser()

    def getConf(self):
        from pyspark import SparkConf

        conf = SparkConf(loadDefaults=False)
        conf.setAll(self._session.conf.getAll.items())
        return conf

    def setLogLevel(self, logLevel):
        levels = ("ALL", "DEBUG", "ERROR", "FATAL", "INFO", "OFF", "TRACE", "WARN")
        if str(logLevel).upper() not in levels:
            raise ValueError("requirement failed: Supplied level %s did not match one of: %s" % (logLevel, ",".join(levels)))

    def setLocalProperty(self, key, value):
        self._properties[key] = value

    def getLocalProperty(self, key):
        return self._properties.get(key)

    def setJobGroup(self, groupId, description, interruptOnCancel=False):
        previous = self._properties.get("spark.jobGroup.id")
        if previous:
            self._session.removeTag(self._tag(previous))
        self._properties["spark.jobGroup.id"] = groupId
        self._properties["spark.job.description"] = description
        self._session.addTag(self._tag(groupId))

    def cancelJobGroup(self, groupId):
        self._session.interruptTag(self._tag(groupId))

    @staticmethod
    def _tag(group):
        return "job-group-" + group.replace(",", " ")

    def setJobDescription(self, value):
        self._properties["spark.job.description"] = value

    def addJobTag(self, tag):
        self._session.addTag(tag)

    def removeJobTag(self, tag):
        self._session.removeTag(tag)

    def getJobTags(self):
        return self._session.getTags()

    def clearJobTags(self):
        self._session.clearTags()

    def cancelJobsWithTag(self, tag):
        self._session.interruptTag(tag)

    def cancelAllJobs(self):
        self._session.interruptAll()

    def broadcast(self, value):
        return LocalBroadcast(value)

    def addFile(self, path, recursive=False):
        self._session.addArtifacts(path, file=True)
        self._files.append(path)

    def addArchive(self, path):
        self._session.addArtifacts(path, archive=True)
        self._archives.append(path)

    @property
    def listFiles(self):
        return sorted("file:" + os.path.abspath(path) for path in self._files)

    @property
    def listArchives(self):
        return sorted("file:" + os.path.abspath(path) for path in self._archives)

    def addPyFile(self, path):
        # The driver imports from it too, as under spark-submit.
        folder = path if path.endswith(self.PACKAGE_EXTENSIONS) else os.path.dirname(os.path.abspath(path))
        if folder not in sys.path:
            sys.path.insert(1, folder)
        self._session.addArtifacts(path, pyfile=True)
        self._files.append(path)

    def stop(self):
        self._session.stop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def __repr__(self):
        return "<SparkContext master=%s appName=%s>" % (self.master, self.appName)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        from pyspark.errors import PySparkAttributeError

        error = PySparkAttributeError(errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": "SparkContext." + name})
        if hasattr(error, "add_note"):
            error.add_note("nilas runs DataFrames and SQL; RDDs need a JVM. spark.createDataFrame(rows) takes the place of sc.parallelize(rows).")
        raise error


def supply_session(module):
    """Gives Spark Connect's SparkSession the two members that programs of classic Spark expect of it."""
    session_class = module.SparkSession
    make = session_class.__init__

    def make_with_files(self, *args, **kwargs):
        make(self, *args, **kwargs)
        add_files(self)

    def spark_context(self):
        context = self.__dict__.get("_nilas_context")
        if context is None:
            context = self.__dict__["_nilas_context"] = ConnectContext(self)
        return context

    def new_session(self):
        return session_class(connection=os.environ["SPARK_REMOTE"])

    session_class.sparkContext = property(spark_context)
    session_class.newSession = new_session
    session_class.__init__ = make_with_files


def add_files(session):
    """What --py-files, --files and --archives name goes with every session, as under spark-submit."""
    for variable, kind in (("NILAS_PY_FILES", "pyfile"), ("NILAS_FILES", "file"), ("NILAS_ARCHIVES", "archive")):
        for path in filter(None, os.environ.get(variable, "").split(",")):
            path = path.strip()
            if kind != "pyfile" or os.path.exists(path):
                session.addArtifacts(path, **{kind: True})


def supply_files(module):
    """SparkFiles in the program itself: server and program share the machine, and the folder."""
    original = module.SparkFiles.getRootDirectory.__func__

    def get_root_directory(cls):
        from pyspark.sql import SparkSession

        session = None if cls._is_running_on_worker else SparkSession.getActiveSession() or getattr(SparkSession, "_instantiatedSession", None)
        return session.conf.get("nilas.python.files", None) or original(cls) if session is not None else original(cls)

    module.SparkFiles.getRootDirectory = classmethod(get_root_directory)


def accept_masters(module):
    """`.master("local[2]")` and a Connect address exclude each other for PySpark; here the one gives way to the other."""
    module.SparkSession.Builder._validate_startup_urls = lambda self: None


def supply_context(module):
    """SparkContext(…) and SparkContext.getOrCreate(…) answer with the context of a Connect session."""

    def make(master=None, appName=None, sparkHome=None, pyFiles=None, environment=None, batchSize=0, serializer=None, conf=None, **_):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder
        if conf is not None:
            builder = builder.config(conf=conf)
        if appName is not None:
            builder = builder.appName(appName)
        context = builder.getOrCreate().sparkContext
        for path in pyFiles or ():
            context.addPyFile(path)
        return context

    class SparkContextMeta(type):
        def __call__(cls, *args, **kwargs):
            return make(*args, **kwargs)

        def __instancecheck__(cls, instance):
            return isinstance(instance, ConnectContext)

    class SparkContext(module.SparkContext, metaclass=SparkContextMeta):
        __doc__ = module.SparkContext.__doc__

        @classmethod
        def getOrCreate(cls, conf=None):
            return make(conf=conf)

    SparkContext.__module__ = module.__name__
    SparkContext.__qualname__ = "SparkContext"
    module.SparkContext = SparkContext


class AfterImport(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Calls back when one of the watched modules has been imported; costs nothing to programs that do not import it."""

    def __init__(self, callbacks):
        self.callbacks = callbacks
        self.loaders = {}

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in self.callbacks or fullname in self.loaders:
            return None
        self.loaders[fullname] = None
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        self.loaders[fullname] = spec.loader
        spec.loader = self
        return spec

    def create_module(self, spec):
        return self.loaders[spec.name].create_module(spec)

    def exec_module(self, module):
        loader = self.loaders[module.__name__]
        module.__loader__ = module.__spec__.loader = loader
        loader.exec_module(module)
        self.callbacks[module.__name__](module)


def explain_missing(error):
    """A package that PySpark's Connect client needs and this Python lacks: say how to get it."""
    name = getattr(error, "name", None) or ""
    text = str(error)
    if isinstance(error, ImportError) and (name.split(".")[0] in NEEDED or any(needed in text for needed in ("grpcio", "PyArrow", "Pandas"))):
        sys.stderr.write("nilas: %s lacks what PySpark needs; `%s -m pip install 'pyspark[connect]==4.0.1'` brings it\n"
                         % (sys.executable, sys.executable))


def install_excepthook():
    previous = sys.excepthook

    def hook(kind, error, traceback):
        # The frames of this bootstrap are none of the program's.
        while traceback is not None and traceback.tb_frame.f_code.co_filename in SOURCE_NAMES:
            traceback = traceback.tb_next
        previous(kind, error.with_traceback(traceback), traceback)
        explain_missing(error)

    sys.excepthook = hook


def run_program(path, arguments):
    main = sys.modules["__main__"]
    sys.argv = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    with open(path, "rb") as file:
        source = file.read()
    names = main.__dict__
    names.update(__file__=path)
    exec(compile(source, path, "exec"), names)


def run_shell():
    """pyspark's own shell start, in the interpreter that then goes on interactively (python -i)."""
    sys.argv = [""]
    sys.path[0] = ""
    import atexit

    try:
        from pyspark.shell import spark
    except ModuleNotFoundError as error:  # of pyspark-client, whose shell asks for what only pyspark brings
        if not (error.name or "").startswith("pyspark.core"):
            raise
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.getOrCreate()
        print("Spark %s by nilas, Python %s. SparkSession available as 'spark'." % (spark.version, sys.version.split()[0]))
    sys.modules["__main__"].__dict__.update(spark=spark, sql=spark.sql, sc=spark.sparkContext)
    atexit.register(spark.stop)


def start(arguments):
    callbacks = {
        "pyspark.core.context": supply_context,
        "pyspark.core.files": supply_files,
        "pyspark.sql.session": accept_masters,
        "pyspark.sql.connect.session": supply_session,
    }
    sys.meta_path.insert(0, AfterImport(callbacks))
    install_excepthook()
    for name in ("m", "sys"):  # of the one line that brought this module in
        sys.modules["__main__"].__dict__.pop(name, None)
    if arguments[0] == "shell":
        run_shell()
    else:
        run_program(arguments[1], arguments[2:])
