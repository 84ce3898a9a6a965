"""What recording and comparing share: the working folder of a case, and what of a finished run is looked at."""
import os
import re
import shutil
import subprocess

import spark_sql_cases

RECORDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spark_sql.json")
PASSED_ON = ("JAVA_HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")


def clean_folder(folder):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)


def prepare(case, folder):
    """Writes the case's files into the empty folder; returns the arguments and the environment for a run in it."""
    for name, text in case.get("files", {}).items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", newline="") as file:
            file.write(text.replace("@DIR@", folder))
    arguments = [text.replace("@DIR@", folder) for text in [*spark_sql_cases.COMMON, *case.get("args_after", []), *case["args"]]]
    environment = {"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC", "SPARK_USER": "tester"}
    environment |= {key: os.environ[key] for key in PASSED_ON if key in os.environ}
    environment |= {key: value.replace("@DIR@", folder) for key, value in case.get("env", {}).items()}
    return arguments, environment


def run(command, folder, environment, case, timeout):
    """Bytes are compared: nothing may change the ends of lines."""
    done = subprocess.run(command, cwd=folder, env=environment, input=case.get("stdin", "").encode(), capture_output=True, timeout=timeout)
    done.stdout, done.stderr = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    return done


def clean(text, folder):
    """Without what differs from run to run: times, the folder, ids of snapshots, sizes of files."""
    text = re.sub(r"Time taken: [0-9.]+ seconds", "Time taken: N seconds", text.replace(folder, "@DIR@"))
    text = re.sub(r"\b[0-9]{17,19}\b(?=',)", "ID", text)
    return re.sub(r"^(2\t1\t)[0-9]+(\t0\t0)$", r"\1BYTES\2", text, flags=re.M)


def seen(done, folder):
    """Standard error without the JVM's log: what a person was told."""
    noise = ("LOG ", "WARNING: ", "Setting default log level", "To adjust logging level", "Spark master: ", "\t")
    told = [line for line in clean(done.stderr, folder).splitlines() if not line.startswith(noise)]
    return {"exit": done.returncode, "stdout": clean(done.stdout, folder), "stderr": told}
