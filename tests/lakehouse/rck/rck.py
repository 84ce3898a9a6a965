"""Iceberg's REST Compatibility Kit against the plain catalog of `nilas up`: rck.py path/to/nilas (needs java and mvn).

The kit creates tables at file:/tmp/…, so the warehouse it gets is file:/tmp; what it leaves there is removed afterwards.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import Lakehouse  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS_MIN, SKIPPED_MAX = 148, 9  # Iceberg's own reference server: 148 tests, 9 skipped by configuration


def main():
    for program in ("java", "mvn"):
        if not shutil.which(program):
            sys.exit(f"rck: {program} is missing. As root: apt-get install openjdk-17-jre-headless maven")
    before = set(os.listdir("/tmp"))
    with tempfile.TemporaryDirectory(prefix="nilas-rck-") as target, Lakehouse("--warehouse", "rck=file:/tmp", "--no-configure") as lake:
        environment = dict(os.environ, CATALOG_URI=lake.url("rest"), CATALOG_WAREHOUSE="rck", CATALOG_RCK_REQUIRES__NAMESPACE__CREATE="true")
        run = subprocess.run(["mvn", "-q", "-B", f"-Drck.target={target}", "surefire:test"], cwd=HERE, env=environment, capture_output=True, text=True, timeout=1500)
        counts = dict.fromkeys(("tests", "errors", "failures", "skipped"), 0)
        for report in glob.glob(target + "/surefire-reports/*.xml"):
            with open(report) as content:
                head = re.search("<testsuite [^>]*>", content.read()).group(0)
            for name in counts:
                counts[name] += int(re.search(rf' {name}="(\d+)"', head).group(1))
    for name in set(os.listdir("/tmp")) - before:
        if any(file.endswith(".metadata.json") for _, _, files in os.walk("/tmp/" + name) for file in files):
            shutil.rmtree("/tmp/" + name, ignore_errors=True)
    print("rck: " + ", ".join(f"{value} {name}" for name, value in counts.items()))
    if run.returncode or counts["errors"] or counts["failures"] or counts["tests"] < TESTS_MIN or counts["skipped"] > SKIPPED_MAX:
        print(run.stdout[-20000:], run.stderr[-2000:])
        sys.exit(1)


main()
