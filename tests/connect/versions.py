"""What newer clients show in another way than 4.0 of the same answer of the server: both sides of a comparison go through plain_of_version()."""
import re

import pyspark

IS_4_0 = pyspark.__version__.startswith("4.0.")
METADATA = re.compile(r"\n *-- field metadata --(\n *\S+: '[^\n]*')+")
BYTES = re.compile(r"(?:bytes )?\bbytearray\((b(?:'[^']*'|\"[^\"]*\"))\)")


def text(value):
    """bytes where 4.0 has bytearray; fields of Arrow with Spark's metadata where 4.0 has none."""
    value = METADATA.sub("", BYTES.sub(r"\1", value))
    return value.replace("bytearray b", "bytes b")


def plain_of_version(value):
    if IS_4_0:
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return [plain_of_version(item) for item in value]
    if isinstance(value, dict):  # an exception without a condition has None, not ""
        return {key: (None if key in ("condition", "parameters") and not item else plain_of_version(item)) for key, item in value.items()}
    return value
