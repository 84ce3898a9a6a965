#!/usr/bin/env python3
"""`nilas up` and the commands around it: the AWS profile, ports, locks, signals, kill -9, and hostile requests.

    tests/lakehouse/up_test.py NILAS [test_name…]

Needs boto3.
"""
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from support import NILAS, Lakehouse, check, equal, free_ports, run_tests, services

FOREIGN = """# my own
[default]
region=eu-central-1\t
output   = json

[profile work]
sso_start_url = https://example.awsapps.com/start
s3 =
  addressing_style = virtual
services = work-services

[services work-services]
s3 =
  endpoint_url = http://elsewhere:1
; the end"""


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)


def read(path):
    with open(path) as text:
        return text.read()


def test_the_profile_leads_boto3_to_the_services():
    lake = Lakehouse(folder=tempfile.mkdtemp(prefix="nilas-lakehouse-"))
    write(lake.environment["AWS_CONFIG_FILE"], FOREIGN)
    write(lake.environment["AWS_SHARED_CREDENTIALS_FILE"], "[default]\naws_access_key_id = AKIAMINE\naws_secret_access_key = mine\n")
    with lake:
        check("export AWS_PROFILE=nilas" in lake.said, lake.said)
        for name in services():
            check(f"http://localhost:{lake.ports[name]}" in lake.said, f"{name} is not told: {lake.said}")
        config = read(lake.environment["AWS_CONFIG_FILE"])
        check(config.startswith(FOREIGN + "\n"), "other profiles stay byte by byte")
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            equal(oct(os.stat(lake.environment[name]).st_mode & 0o777), "0o600", name)
        session = lake.session()
        equal(session.region_name, "us-east-1")
        equal(session.get_credentials().access_key, "nilas")
        equal(sorted(session.available_profiles), ["default", "nilas", "work"])
        s3 = session.client("s3")
        equal(s3.meta.endpoint_url, lake.url("s3"))
        equal(s3.meta.config.s3.get("addressing_style"), "path")
        # Presigned links are Signature Version 4 by the profile alone: botocore's own choice for this region would be 2.
        s3.create_bucket(Bucket="links")
        put, get = (s3.generate_presigned_url(operation, Params={"Bucket": "links", "Key": "ä b"}) for operation in ("put_object", "get_object"))
        urllib.request.urlopen(urllib.request.Request(put, b"by a link", method="PUT")).read()
        equal(urllib.request.urlopen(get).read(), b"by a link")
        for name in ("s3tables", "athena", "glue"):
            if name in services():
                equal(session.client(name).meta.endpoint_url, lake.url(name))
        equal(lake.session("default").get_credentials().access_key, "AKIAMINE")
        check("warehouse" in [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]], "the warehouse's bucket is there")
        stamp = os.stat(lake.environment["AWS_CONFIG_FILE"]).st_mtime_ns
    with lake:
        equal(os.stat(lake.environment["AWS_CONFIG_FILE"]).st_mtime_ns, stamp, "what is so already is not written")


def test_configure_by_itself_and_its_profiles():
    lake = Lakehouse()
    done = lake.command("configure", "--profile", "other", "--port", "s3=1234")
    equal(done.returncode, 0, done.stderr)
    check("AWS_PROFILE=other" in done.stdout, done.stdout)
    equal(lake.session("other").client("s3").meta.endpoint_url, "http://localhost:1234")
    done = lake.command("configure", "--profile", "two words")
    equal(done.returncode, 2)
    write(lake.environment["AWS_SHARED_CREDENTIALS_FILE"], "[real]\naws_access_key_id = AKIAREAL\naws_secret_access_key = x\n")
    done = lake.command("configure", "--profile", "real")
    equal(done.returncode, 1)
    check("did not write" in done.stderr, done.stderr)


def test_ready_fast_and_small():
    lake = Lakehouse("--detach")
    flags = [flag for name, port in lake.ports.items() for flag in ("--port", f"{name}={port}")]
    lake.command("up", "--detach", *flags)
    lake.command("down")
    begun = time.time()
    done = lake.command("up", "--detach", *flags)
    seconds = time.time() - begun
    equal(done.returncode, 0, done.stderr)
    pid = int(re.search(r"process (\d+)", lake.command("status").stdout).group(1))
    resident = int(re.search(r"VmRSS:\s+(\d+)", read(f"/proc/{pid}/status")).group(1))
    private = sum(int(kib) for kib in re.findall(r"^(?:Private_Clean|Private_Dirty):\s+(\d+)", read(f"/proc/{pid}/smaps_rollup"), re.M))
    equal(lake.command("down").returncode, 0)
    print(f"    ready after {seconds * 1000:.0f} ms; idle: {resident / 1024:.1f} MiB resident, {private / 1024:.1f} MiB of them private")
    check(seconds < 1, f"ready after {seconds} s")


def test_detach_status_logs_down():
    lake = Lakehouse()
    flags = [flag for name, port in lake.ports.items() for flag in ("--port", f"{name}={port}")]
    equal(lake.command("status").returncode, 3)
    done = lake.command("up", "--detach", "--verbose", *flags)
    equal(done.returncode, 0, done.stderr)
    check("nilas down" in done.stdout, done.stdout)
    lake.client("s3").list_buckets()
    done = lake.command("status")
    equal(done.returncode, 0)
    check(f"http://localhost:{lake.ports['s3']}" in done.stdout and "up: process" in done.stdout and "iB)" in done.stdout, done.stdout)
    logs = lake.command("logs").stdout
    check(re.search(r"INFO s3 +GET / 200 \d+ ms 127.0.0.1:\d+|INFO s3 +GET / 200 \d+ ms \[::1\]:\d+", logs), f"no line of the request:\n{logs}")
    done = lake.command("up", "--detach", *[flag for name, port in free_ports(lake.ports).items() for flag in ("--port", f"{name}={port}")])
    equal(done.returncode, 1)
    check(re.search(r"process \d+ serves it", done.stderr), f"a second one on the folder names the first: {done.stderr}")
    done = lake.command("down")
    equal(done.returncode, 0)
    equal(lake.command("status").returncode, 3)
    equal(lake.command("down").returncode, 0)


def test_a_folder_that_was_removed_ends_it():
    """Deleting the folder without `nilas down` before is common: what is written from then on must not be acknowledged."""
    import botocore.exceptions
    from botocore.config import Config
    lake = Lakehouse().start()
    s3 = lake.client("s3", config=Config(retries={"max_attempts": 0}))
    s3.create_bucket(Bucket="before")
    shutil.rmtree(lake.folder + "/data")
    try:
        s3.create_bucket(Bucket="after")
        check(False, "a bucket was made in a folder that is not there")
    except botocore.exceptions.ClientError as problem:
        equal(problem.response["ResponseMetadata"]["HTTPStatusCode"], 500)
    except botocore.exceptions.EndpointConnectionError:
        pass  # it has ended already
    equal(lake.process.wait(10), 0)
    check("was removed" in lake.stderr(), lake.stderr())
    check(not os.path.exists(lake.folder + "/data"), "nothing of it comes back")
    lake.start()
    check("before" not in [entry["Name"] for entry in lake.client("s3").list_buckets()["Buckets"]], "the folder is a new one")
    lake.stop()


def test_a_limit_of_file_sizes_is_a_full_disk():
    from botocore.config import Config
    import botocore.exceptions
    lake = Lakehouse()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, limits[1]))
    try:
        lake.start()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    s3 = lake.client("s3", config=Config(retries={"max_attempts": 0}))
    s3.create_bucket(Bucket="small")
    s3.put_object(Bucket="small", Key="fits", Body=b"x" * (1 << 20))
    try:
        s3.put_object(Bucket="small", Key="large", Body=b"x" * (3 << 20))
        check(False, "3 MiB were written")
    except botocore.exceptions.ClientError as problem:
        equal(problem.response["Error"]["Code"], "SlowDown")
    equal([entry["Key"] for entry in s3.list_objects_v2(Bucket="small")["Contents"]], ["fits"])
    equal(lake.stop(), 0)


def test_a_data_folder_that_is_none_is_named():
    for make, words in ((lambda path: open(path, "w").close(), "there is a file of this name"), (lambda path: os.symlink("/nonexistent/folder", path), "there is a file of this name"),
                        (lambda path: (os.mkdir(path), os.symlink("/tmp", path + "/objects")), "objects is a file or a symbolic link"),
                        (lambda path: (os.mkdir(path), os.symlink("/etc/passwd", path + "/lakehouse.db")), "symbolic link, which is not followed"),
                        (lambda path: (os.mkdir(path), open(path + "/lakehouse.db", "w").write("no database" * 1000)), "file is not a database")):
        lake = Lakehouse()
        make(lake.folder + "/data")
        done = lake.command("up", "s3", "--port", "s3=0")
        equal(done.returncode, 1)
        check(words in done.stderr and lake.folder in done.stderr, done.stderr)
        shutil.rmtree(lake.folder)


def test_a_busy_port_names_its_holder():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        for more in ([], ["--detach"]):
            done = Lakehouse().command("up", "s3", "--port", f"s3={holder.getsockname()[1]}", *more)
            equal(done.returncode, 1)
            check(f"process {os.getpid()} (" in done.stderr and "up_test.py" in done.stderr, done.stderr)


def test_wrong_command_lines():
    lake = Lakehouse()
    for arguments, part in [(["up", "s4"], "s3"), (["up", "--prot", "s3=1"], "--port"), (["up", "--port", "s3"], "NAME=PORT"), (["up", "--port", "s3=99999"], "99999"),
                            (["up", "--listen", "0.0.0.0"], "--access-key"), (["up", "--access-key", "a"], "both"), (["down", "x"], "x")]:
        done = lake.command(*arguments)
        equal(done.returncode, 2, arguments)
        check(part in done.stderr, f"{arguments}: {done.stderr}")
    lake.environment["NILAS_PORT_S3"] = "many"
    check("NILAS_PORT_S3" in lake.command("up", "s3").stderr, "the variable is named")
    del lake.environment["NILAS_PORT_S3"]
    for command in ("up", "down", "status", "configure", "logs", "dashboard"):
        equal(lake.command(command, "--version").stdout, "nilas 0.1.0\n")
        check(f"Usage: nilas {command}" in lake.command(command, "--help").stdout, command)


def test_names_choose_and_bring_what_they_need():
    for name in services():
        with Lakehouse(names=[name]) as lake:
            started = [other for other in services() if f":{lake.ports[other]}" in lake.said]
            check(name in started and (name in ("s3", "dashboard") or "s3" in started), f"{name} brings {started}")
            check(name != "s3" or started == ["s3"], f"s3 brings {started}")


def test_signals_end_it_cleanly():
    for how in (signal.SIGINT, signal.SIGTERM):
        with Lakehouse() as lake:
            begun = time.time()
            equal(lake.stop(how), 0)
            check(time.time() - begun < 2, f"stopping took {time.time() - begun} s")


def test_nothing_acknowledged_is_lost_by_kill_9():
    lake = Lakehouse()
    known = {}
    for round_number in range(4):
        lake.start()
        s3 = lake.client("s3")
        if round_number == 0:
            s3.create_bucket(Bucket="kept")
        for key, body in known.items():
            equal(s3.get_object(Bucket="kept", Key=key)["Body"].read(), body, key)
        equal(sorted(entry["Key"] for entry in s3.list_objects_v2(Bucket="kept").get("Contents", [])), sorted(known))
        for number in range(20):
            key, body = f"{round_number}/{number}", os.urandom(100 if number % 2 else 300000)
            s3.put_object(Bucket="kept", Key=key, Body=body)
            known[key] = body
        begun = time.time()
        lake.stop(signal.SIGKILL)
    with lake:
        check(time.time() - begun < 2, "restarted within a second or so")
        equal(len(lake.client("s3").list_objects_v2(Bucket="kept")["Contents"]), len(known))


def test_two_folders_side_by_side():
    with Lakehouse("--profile", "one") as one, Lakehouse("--profile", "two", folder=tempfile.mkdtemp(prefix="nilas-lakehouse-")) as two:
        one.session("one").client("s3").create_bucket(Bucket="only-here")
        check("only-here" not in [bucket["Name"] for bucket in two.session("two").client("s3").list_buckets()["Buckets"]], "the other one has its own buckets")


def test_a_read_only_configuration_is_told_and_everything_is_served():
    lake = Lakehouse()
    write(lake.folder + "/file", "")
    lake.environment["AWS_CONFIG_FILE"] = lake.folder + "/file/config"
    with lake:
        check("was not written" in lake.said, lake.said)
        equal(talk(lake.ports["s3"], "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")[:9], b"HTTP/1.1 ")


def talk(port, text, seconds=15):
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as peer:
        peer.sendall(text if isinstance(text, bytes) else text.encode())
        heard = b""
        while part := peer.recv(65536):
            heard += part
        return heard


def test_hostile_requests():
    with Lakehouse() as lake:
        for name, port in lake.ports.items():
            for text, status in [
                ("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", b"421"),
                ("GET / HTTP/1.1\r\nHost: 10.0.0.1\r\nConnection: close\r\n\r\n", b"421"),
                ("POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", b"403"),
                ("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + "a" * 65536 + "\r\nConnection: close\r\n\r\n", b"431"),
                ("GET /" + "a" * 300000 + " HTTP/1.1\r\nHost: localhost\r\n\r\n", b"4"),
                ("GET / HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"X-{i}: 1\r\n" for i in range(120)) + "Connection: close\r\n\r\n", b"431"),
                ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n", b"400"),
            ]:
                got = talk(port, text)
                check(got.startswith(b"HTTP/1.1 " + status), f"{name}: {text[:70]!r} gives {got[:60]!r}")
                check(b"Access-Control-Allow-Origin" not in got, f"{name} allows other origins")
            for text in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x00" * 1000 + b"\r\n\r\n", b"GET\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
                with socket.create_connection(("127.0.0.1", port), timeout=15) as peer:
                    peer.sendall(text)
                    peer.shutdown(socket.SHUT_WR)
                    check(not peer.recv(100).startswith(b"HTTP/1.1 2"), f"{name}: {text[:20]!r} is no request")
        check(lake.process.poll() is None, "it lives")


def test_a_head_that_trickles_in_is_cut_off():
    with Lakehouse(names=["s3"]) as lake, socket.create_connection(("127.0.0.1", lake.ports["s3"]), timeout=30) as peer:
        begun = time.time()
        try:
            peer.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
            while time.time() - begun < 25:
                peer.sendall(b"X: 1\r\n")
                time.sleep(0.3)
        except OSError:
            pass
        check(9 < time.time() - begun < 14, f"cut off after {time.time() - begun:.1f} s")


def test_three_hundred_connections():
    with Lakehouse(names=["s3"]) as lake:
        peers = [socket.create_connection(("127.0.0.1", lake.ports["s3"]), timeout=5) for _ in range(300)]
        time.sleep(0.3)
        answers = []
        for peer in peers:
            try:
                peer.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                answers.append(peer.recv(100)[9:12])
            except OSError:
                answers.append(b"")
            peer.close()
        equal(answers.count(b"503"), 44, "refused with words")
        check(answers.count(b"") == 0, "nobody is cut without words")
        deadline = time.time() + 5
        while time.time() < deadline and not talk(lake.ports["s3"], "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 200"):
            time.sleep(0.1)
        check(time.time() < deadline, "it serves again")


def test_other_addresses_only_with_keys_and_strictly():
    with Lakehouse("--listen", "0.0.0.0", "--access-key", "somebody", "--host", "lake.example", names=["s3"], environment={"NILAS_SECRET_KEY": "a-secret"}) as lake:
        equal(lake.client("s3").list_buckets()["ResponseMetadata"]["HTTPStatusCode"], 200)
        check(talk(lake.ports["s3"], "GET / HTTP/1.1\r\nHost: lake.example\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 403"), "anonymous requests are refused")
        command = subprocess.run(["cat", f"/proc/{lake.process.pid}/cmdline"], capture_output=True, text=True).stdout
        check("a-secret" not in command and "a-secret" not in lake.said + lake.stderr(), "the secret is nowhere to be seen")


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
