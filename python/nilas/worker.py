"""The Python side of a query's functions: what nilas starts, in the user's own Python, to run them.

nilas (src/exec/python/worker.c) hands over tasks and Arrow batches through a socket; PySpark's own worker
(pyspark.worker.main) runs them, so that each kind of function means here what it means in Spark. What main() would read
from a JVM is put together from the task; the two places where it meets Arrow streams are led to the socket instead.
Functions that work row by row get rows made of the batches, and their values become columns as Spark's JVM makes them:
a value of another type is null.

A frame is a letter, a length (4 bytes, little endian) and so many bytes. To here:
    T  a task: 4 bytes length of a JSON text, the text, then the pickled functions that it gives the lengths of
    B  a batch: an Arrow stream of its own       S  the data frame of a cogroup ends here
    G  a cogroup begins                          E  the input ends
    K  the task that raised an exception is over
From here: R a batch; W a group is done and the next one is wanted (of tasks that are to tell); X an exception's text; D the
task is done, b"1" when this process can take another.
The text of this file is part of the `nilas` program; serve() begins.
"""

import datetime
import io
import itertools
import json
import os
import select
import socket
import struct
import sys
import threading
import time

FRAME_BYTES_MAX = 1 << 31
END_OF_STREAM = struct.pack("!i", -4)
NOT_THE_END = struct.pack("!i", -1)

BATCHED = 100
MAPS = (201, 205, 206, 207, 209, 210)
COGROUPS = (206, 210)
WITHOUT_CONFS = (100, 300)
TABLES = (300, 301)


class Channel:
    def __init__(self, sock):
        self.socket = sock
        self.file = sock.makefile("rb", buffering=1 << 16)

    def receive(self):
        """The next frame; None when nilas has gone."""
        head = self.file.read(5)
        if len(head) < 5:
            return None
        kind, length = head[:1], struct.unpack("<I", head[1:])[0]
        payload = self.file.read(length)
        return None if len(payload) < length else (kind, payload)

    def send(self, kind, payload=b""):
        view = memoryview(payload)
        if view.nbytes >= FRAME_BYTES_MAX:
            raise ValueError("a function in Python has made more than 2 GiB at once")
        self.socket.sendall(kind + struct.pack("<I", view.nbytes))
        self.socket.sendall(view)


class Gone(BaseException):
    """nilas has closed the socket: nobody waits for what is being computed."""


class Input:
    """What pyspark.worker.main reads: the task's description, then batches, then the end."""

    def __init__(self, channel, header, is_cogroup, tells):
        self.channel = channel
        self.header = io.BytesIO(header)
        self.is_cogroup = is_cogroup
        self.tells = tells
        self.has_begun = self.is_ended = False

    def ask(self):
        """The next group is wanted: everything of the one before has been sent."""
        if self.tells and self.has_begun:
            self.channel.send(b"W")
        self.has_begun = True

    def read(self, count):
        data = self.header.read(count)
        if data or count == 0:
            return data
        if not self.is_ended and self.is_cogroup:
            self.ask()
            kind = self.next()[0]
            return struct.pack("!i", 2 if kind == b"G" else 0)
        return END_OF_STREAM if self.is_ended else NOT_THE_END

    def next(self):
        frame = self.channel.receive()
        if frame is None:
            raise Gone()
        if frame[0] == b"E":
            self.is_ended = True
        return frame

    def batches(self):
        import pyarrow as pa

        while not self.is_ended:
            if not self.is_cogroup:
                self.ask()
            kind, payload = self.next()
            if kind != b"B":
                return
            yield from pa.ipc.open_stream(pa.py_buffer(payload))


class Output:
    """Control numbers of PySpark's protocol are dropped: frames say the same."""

    def __init__(self, channel):
        self.channel = channel
        self.has_failed = False

    def write(self, data):
        return len(data)

    def flush(self):
        pass

    def send(self, batch):
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        self.channel.send(b"R", sink.getvalue())


# ---- rows for functions that work row by row, and columns of what they return


def number(low_type):
    """Java's narrowing: only whole numbers, and only their low bits."""
    bits = {"byte": 8, "short": 16, "integer": 32, "long": 64}[low_type]

    def convert(value):
        if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
            return None
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> (bits - 1) else value

    return convert


def refuse(value):
    """Objects of classes that Spark's JVM cannot take out of a pickle are an error there, not null."""
    kind = type(value)
    name = {"Row": "pyspark.sql.types._create_row"}.get(kind.__name__, "")
    if kind.__module__ == "numpy":
        name = "numpy.core.multiarray." + ("_reconstruct" if kind.__name__ == "ndarray" else "scalar")
    if name:
        raise TypeError(
            "expected zero arguments for construction of ClassDict (for %s). This happens when an unsupported/unregistered "
            "class is being unpickled that requires construction arguments. Fix it by registering a custom IObjectConstructor "
            "for this class." % name
        )


def java_text(value):
    """What toString() says of the object that a pickled value becomes."""
    refuse(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, dict):
        return "{" + ", ".join(java_text(k) + "=" + java_text(v) for k, v in value.items()) + "}"
    if isinstance(value, (list, set, frozenset)):
        return "[" + ", ".join(java_text(v) for v in value) + "]"
    if isinstance(value, tuple):
        return "[Ljava.lang.Object;@%x" % (id(value) & 0xFFFFFFFF)
    if isinstance(value, datetime.timedelta):
        total = value.days * 86400 + value.seconds + value.microseconds / 1e6
        parts = (value.days, value.seconds, value.microseconds, total)
        return "Timedelta: %d days, %d seconds, %d microseconds (total: %r seconds)" % parts
    if isinstance(value, (bytes, bytearray)):
        return "[B@%x" % (id(value) & 0xFFFFFFFF)
    return str(value)


def java_double(value):
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(value)
        return text if "e" not in text else "%.1f" % value
    mantissa, _, exponent = ("%r" % value if "e" in repr(value) else "%.17e" % value).partition("e")
    mantissa = repr(float(value) / 10.0 ** int(exponent)) if "." not in mantissa or len(mantissa) > 17 else mantissa
    return "%sE%d" % (mantissa if "." in mantissa else mantissa + ".0", int(exponent))


def decimal_converter(data_type):
    import decimal

    unit = decimal.Decimal(1).scaleb(-data_type.scale)
    context = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)
    limit = decimal.Decimal(10) ** (data_type.precision - data_type.scale)

    def convert(value):
        if not isinstance(value, decimal.Decimal) or not value.is_finite():
            return None
        value = value.quantize(unit, context=context)
        return value if abs(value) < limit else None

    return convert


def struct_converter(data_type):
    names = ["_%d" % i for i in range(len(data_type.fields))]
    converters = [converter(f.dataType) for f in data_type.fields]

    def convert(value):
        if not isinstance(value, (tuple, list)) or value is None:
            return None
        if len(value) != len(converters):
            raise ValueError(
                "Input row doesn't have expected number of values required by the schema. "
                "%d fields are required while %d values are provided." % (len(converters), len(value))
            )
        return {n: None if v is None else c(v) for n, c, v in zip(names, converters, value)}

    return convert


def map_converter(data_type):
    key, value_of = converter(data_type.keyType), converter(data_type.valueType)

    def convert(value):
        if not isinstance(value, dict):
            return None
        return [(key(k), None if v is None else value_of(v)) for k, v in value.items()]

    return convert


def array_converter(data_type):
    element = converter(data_type.elementType)

    def convert(value):
        if not isinstance(value, (list, tuple)):
            return None
        return [None if v is None else element(v) for v in value]

    return convert


def converter(data_type):
    """A function from what a Python function returned, in PySpark's internal form, to what Arrow takes; null on mismatch."""
    name = data_type.typeName()
    if hasattr(data_type, "sqlType"):
        return converter(data_type.sqlType())
    simple = {
        "boolean": lambda v: v if isinstance(v, bool) else None,
        "float": lambda v: v if isinstance(v, float) else None,
        "double": lambda v: v if isinstance(v, float) else None,
        "string": lambda v: v if type(v) is str else java_text(v),
        "date": number("integer"),
        "timestamp": number("long"),
        "timestamp_ntz": number("long"),
        "daytimeinterval": number("long"),
        "void": lambda v: None,
    }
    for word in ("string", "varchar", "char"):
        if name.startswith(word):
            return simple["string"]
    if name in simple:
        return simple[name]
    if name in ("byte", "short", "integer", "long"):
        return number(name)
    if name == "binary":
        return lambda v: v.encode() if isinstance(v, str) else bytes(v) if isinstance(v, (bytes, bytearray)) else None
    if name.startswith("decimal"):
        return decimal_converter(data_type)
    makers = {"array": array_converter, "map": map_converter, "struct": struct_converter}
    if name in makers:
        return makers[name](data_type)
    if name.startswith("interval day") or name.startswith("day"):
        return number("long")
    raise TypeError("a function in Python cannot return %s" % data_type.simpleString())


def arrow_type(data_type):
    """Arrow's type, with struct fields by position: names may repeat."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_type

    if hasattr(data_type, "sqlType"):
        return arrow_type(data_type.sqlType())
    name = data_type.typeName()
    if name == "struct":
        return pa.struct([pa.field("_%d" % i, arrow_type(f.dataType)) for i, f in enumerate(data_type.fields)])
    if name == "array":
        return pa.list_(arrow_type(data_type.elementType))
    if name == "map":
        return pa.map_(arrow_type(data_type.keyType), arrow_type(data_type.valueType))
    return to_arrow_type(data_type)


def converted(convert, column):
    out = []
    for value in column:
        made = None if value is None else convert(value)
        if made is None and value is not None:
            refuse(value)
        out.append(made)
    return out


class Rows:
    """Deserializer and serializer of functions that work row by row: batches to rows, values to batches."""

    def __init__(self, return_types):
        self.return_types = return_types
        self.row_count = 0
        self.converters = None

    def input_converters(self, schema):
        from pyspark.sql.conversion import ArrowTableToRowsConversion
        from pyspark.sql.pandas.types import from_arrow_type

        return [ArrowTableToRowsConversion._create_converter(from_arrow_type(f.type)) for f in schema]

    def load_stream(self, stream):
        for batch in stream.batches():
            if self.converters is None:
                self.converters = self.input_converters(batch.schema)
            self.row_count = batch.num_rows
            columns = [list(map(c, column.to_pylist())) for c, column in zip(self.converters, batch.columns)]
            yield from zip(*columns) if columns else itertools.repeat((), batch.num_rows)

    def dump_stream(self, iterator, stream):
        import pyarrow as pa

        types = [arrow_type(t) for t in self.return_types]
        converters = [converter(t) for t in self.return_types]
        iterator = iter(iterator)
        for first in iterator:
            values = [first]
            values.extend(itertools.islice(iterator, self.row_count - 1))
            columns = [values] if len(types) == 1 else zip(*values)
            arrays = [pa.array(converted(c, column), type=t) for c, t, column in zip(converters, types, columns)]
            stream.send(pa.RecordBatch.from_arrays(arrays, ["_%d" % i for i in range(len(arrays))]))


class TableRows(Rows):
    """The same for table functions: a call gives any number of rows."""

    def dump_stream(self, iterator, stream):
        import pyarrow as pa

        types = [arrow_type(f.dataType) for f in self.return_types]
        converters = [converter(f.dataType) for f in self.return_types]
        for rows in iterator:
            if not rows:
                continue
            arrays = [pa.array(converted(c, column), type=t) for c, t, column in zip(converters, types, zip(*rows))]
            stream.send(pa.RecordBatch.from_arrays(arrays, ["_%d" % i for i in range(len(arrays))]))


class EachRows(TableRows):
    """The same over the rows of another table: each batch is answered by one, whose first column tells which of its rows gave
    a row; -1: the function's end did."""

    def __init__(self, return_types):
        super().__init__(return_types)
        self.row_count = self.number = 0
        self.is_open = False
        self.made = []

    def load_stream(self, stream):
        for batch in stream.batches():
            if self.converters is None:
                self.converters = self.input_converters(batch.schema)
            self.row_count, self.number, self.is_open = batch.num_rows, 0, True
            columns = [list(map(c, column.to_pylist())) for c, column in zip(self.converters, batch.columns)]
            yield from zip(*columns) if columns else itertools.repeat((), batch.num_rows)
            self.answer()

    def answer(self):
        import pyarrow as pa

        numbers = pa.array([number for number, _ in self.made], pa.int32())
        columns = list(zip(*(row for _, row in self.made))) if self.made else [()] * len(self.types)
        arrays = [numbers] + [pa.array(converted(c, column), type=t) for c, t, column in zip(self.field_converters, self.types, columns)]
        self.made, self.is_open = [], False
        self.stream.send(pa.RecordBatch.from_arrays(arrays, ["_%d" % i for i in range(len(arrays))]))

    def dump_stream(self, iterator, stream):
        self.stream = stream
        self.types = [arrow_type(f.dataType) for f in self.return_types]
        self.field_converters = [converter(f.dataType) for f in self.return_types]
        for rows in iterator:
            number = self.number if self.number < self.row_count else -1
            self.made.extend((number, row) for row in rows or ())
            self.number += 1
        if self.is_open or self.made:
            self.answer()


# ---- what pyspark.worker.main wants to read


def integer(value):
    return struct.pack("!i", value)


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return integer(len(data)) + data


def context_header(task):
    out = [integer(task["partition"]), text(task["version"]), b"\0", integer(0), text("")]
    out += [integer(0), integer(task["partition"]), integer(0), struct.pack("!q", task["id"]), integer(1), integer(0)]
    properties = task.get("properties", {})
    out.append(integer(len(properties)))
    for key, value in properties.items():
        out += [text(key), text(value)]
    out += [text(task["files"]), integer(len(task["includes"]))] + [text(name) for name in task["includes"]]
    return out + [b"\0", integer(0)]  # no broadcast variables


def arguments_header(udf, has_names):
    out = [integer(len(udf["offsets"]))]
    names = udf.get("names") or [None] * len(udf["offsets"])
    for offset, name in zip(udf["offsets"], names):
        out.append(integer(offset))
        if has_names:
            out.append(b"\0" if name is None else b"\1" + text(name))
    return out


def table_type(stream):
    """The type of a table function's rows, which comes as an Arrow stream without batches."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pa.ipc.open_stream(pa.py_buffer(stream)).schema)


def task_header(task, commands):
    """All that main() reads before the data, in the order of pyspark 4.0 and 4.1."""
    kind = task["eval"]
    out = context_header(task)
    out.append(integer(kind))
    if kind not in WITHOUT_CONFS:
        out.append(integer(len(task["confs"])))
        for key, value in task["confs"].items():
            out += [text(key), text(value)]
    if kind in TABLES:
        udf = task["udfs"][0]
        out += arguments_header(udf, True)
        out += [integer(len(task["partitions"]))] + [integer(i) for i in task["partitions"]]
        out += [b"\0", text(commands.pop(0)), text(table_type(commands.pop(0)).json()), text(task["table_name"])]
        return b"".join(out)
    out += [b"\0", integer(len(task["udfs"]))]
    for udf in task["udfs"]:
        out += arguments_header(udf, kind not in MAPS)
        out.append(integer(udf["chain"]))
        out += [text(commands.pop(0)) for _ in range(udf["chain"])]
    return b"".join(out)


def without_ours(tb):
    """The traceback without this file's frames: they are no business of whoever wrote the function."""
    import types

    frames = []
    while tb is not None:
        if tb.tb_frame.f_code.co_filename != "<nilas>":
            frames.append(tb)
        tb = tb.tb_next
    for frame in reversed(frames):
        tb = types.TracebackType(tb, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return tb


def patch(worker):
    """Leads the two ends of Arrow streams to frames. The return types of functions by row are noted as they are read."""
    from pyspark import util
    from pyspark.sql.pandas import serializers

    def load_stream(self, stream):
        return stream.batches()

    def dump_stream(self, iterator, stream):
        for batch in iterator:
            stream.send(batch)

    serializers.ArrowStreamSerializer.load_stream = load_stream
    serializers.ArrowStreamSerializer.dump_stream = dump_stream
    read_udfs, wrap_udf, handle = worker.read_udfs, worker.wrap_udf, worker.handle_worker_exception
    read_udtf, parse = worker.read_udtf, worker._parse_datatype_json_string
    return_types = []
    simplify = util.try_simplify_traceback
    util.try_simplify_traceback = lambda tb: simplify(without_ours(tb))

    def noting_wrap_udf(f, args_offsets, kwargs_offsets, return_type):
        return_types.append(return_type)
        return wrap_udf(f, args_offsets, kwargs_offsets, return_type)

    def read_udfs_by_frames(pickler, infile, eval_type):
        del return_types[:]
        func, profiler, deserializer, serializer = read_udfs(pickler, infile, eval_type)
        if eval_type == BATCHED:
            deserializer = serializer = Rows(list(return_types))
        return func, profiler, deserializer, serializer

    def read_udtf_by_frames(pickler, infile, eval_type):
        parsed = []

        def noting_parse(json_text):
            parsed.append(parse(json_text))
            return parsed[-1]

        worker._parse_datatype_json_string = noting_parse
        func, profiler, _, _ = read_udtf(pickler, infile, eval_type)
        rows = (EachRows if is_each else TableRows)(parsed[0].fields)
        return func, profiler, rows, rows

    def handle_exception(error, outfile):
        if isinstance(error, Gone):
            os._exit(0)
        said = io.BytesIO()
        handle(error, said)
        outfile.has_failed = True
        outfile.channel.send(b"X", said.getvalue()[8:])

    worker.wrap_udf = noting_wrap_udf
    worker.read_udfs = read_udfs_by_frames
    worker.read_udtf = read_udtf_by_frames
    worker.handle_worker_exception = handle_exception


def until_over(channel):
    """What nilas had sent on is passed over."""
    while True:
        frame = channel.receive()
        if frame is None:
            return False
        if frame[0] == b"K":
            return True


def run(worker, channel, payload):
    """One task; whether another can follow. When SystemExit comes an exception's text has been sent, or the function has
    ended before its input."""
    length = struct.unpack("<I", payload[:4])[0]
    task = json.loads(payload[4 : 4 + length])
    commands, at = [], 4 + length
    for size in task["commands"]:
        commands.append(payload[at : at + size])
        at += size
    for key, value in task.get("environment", {}).items():
        os.environ[key] = value
    global files_root, is_each
    files_root = task["files"] or files_root
    is_each = bool(task.get("each"))
    for archive in task.get("archives", ()):
        unpack(task["files"], *archive.partition("#")[::2])
    if task.get("memory"):
        os.environ["PYSPARK_EXECUTOR_MEMORY_MB"] = str(mebibytes(task["memory"]))
    infile = Input(channel, task_header(task, commands), task["eval"] in COGROUPS, task.get("tells"))
    outfile = Output(channel)
    try:
        worker.main(infile, outfile)
    except SystemExit:
        if outfile.has_failed:
            return until_over(channel)
        channel.send(b"D", b"0")
        return False
    channel.send(b"D", b"1" if infile.is_ended else b"0")
    return infile.is_ended


def mebibytes(size):
    """Of a size as Spark writes it: "2g", "512m", "1024" (MiB)."""
    size = size.strip().lower().removesuffix("b")
    units = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1 << 20}
    try:
        return int(float(size[:-1]) * units[size[-1]]) if size[-1:] in units else int(size)
    except ValueError:
        return -1


def unpack(root, name, folder):
    """Unpacks an archive of the session, once: whoever is first gives the folder its name."""
    import shutil
    import tempfile

    target = os.path.join(root, os.path.basename(folder) or name)
    if os.path.isdir(target):
        return
    made = tempfile.mkdtemp(prefix=".unpacking-", dir=root)
    is_zip = name.endswith((".zip", ".jar"))
    safely = {"filter": "data"} if not is_zip and sys.version_info >= (3, 12) else {}
    shutil.unpack_archive(os.path.join(root, ".archives", name), made, "zip" if is_zip else None, **safely)
    try:
        os.rename(made, target)
    except OSError:  # another worker was faster
        shutil.rmtree(made, ignore_errors=True)


files_root = ""  # of the session's artifacts
is_each = False  # the task's table function runs over the rows of another table


def end_with(number_of_socket):
    """Ends this process when nilas has ended, also in the middle of a function. One that was killed leaves its folder to us."""
    parent = os.getppid()
    poll = select.poll()
    poll.register(number_of_socket, select.POLLRDHUP)
    while not poll.poll():
        pass
    leave(parent)


def leave(parent):
    if files_root and os.path.basename(files_root).startswith("nilas-files-"):
        for _ in range(20):  # the living end us by a signal
            if os.getppid() != parent:
                import shutil

                shutil.rmtree(files_root, ignore_errors=True)
                break
            time.sleep(0.05)
    os._exit(0)


def serve(number_of_socket):
    channel = Channel(socket.socket(fileno=number_of_socket))
    parent = os.getppid()
    threading.Thread(target=end_with, args=(number_of_socket,), daemon=True).start()
    problem = None
    try:
        import pyspark.worker as worker

        patch(worker)
    except BaseException as error:
        problem = (
            "nilas runs functions in Python with the pyspark package (4.0 or later) and pyarrow of %s, "
            "where this came of it: %s: %s" % (sys.executable, type(error).__name__, error)
        )
    while True:
        frame = channel.receive()
        if frame is None:
            return leave(parent)
        if problem:
            channel.send(b"X", problem.encode())
            return
        if frame[0] == b"T" and not run(worker, channel, frame[1]):
            return
