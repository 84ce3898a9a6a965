"""pytest fixtures: a Spark session on a throw-away warehouse for each test, on one nilas server for the whole run.

    def test_orders(spark):
        spark.sql("CREATE TABLE local.db.t (id bigint) USING iceberg")

The ini option `nilas_confs` adds configuration, one key=value a line.
"""

import os

import pytest


def pytest_addoption(parser):
    parser.addini("nilas_confs", "configuration of every session, one key=value a line", type="linelist", default=[])


def confs_of(config):
    pairs = (line.partition("=") for line in config.getini("nilas_confs") if line.strip())
    return {key.strip(): value.strip() for key, _, value in pairs}


@pytest.fixture(scope="session")
def nilas_server(request):
    """The server of this run; its `url` is an address for SparkSession.builder.remote."""
    from nilas import Server

    with Server(confs_of(request.config)) as server:
        yield server


@pytest.fixture
def spark(nilas_server, tmp_path):
    """A session of this test alone: nothing in its catalog `local`, which lies in the test's own folder."""
    before = os.environ.get("SPARK_CONNECT_MODE_ENABLED")
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"  # functions of pyspark.sql ask for it before a session is there
    from pyspark.sql.connect.session import SparkSession

    builder = SparkSession.builder.remote(nilas_server.url)
    builder = builder.config("spark.sql.catalog.local.warehouse", str(tmp_path / "warehouse"))
    session = builder.create()
    yield session
    session.stop()
    if before is None:
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
