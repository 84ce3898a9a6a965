"""SigV4, AWS profiles and credentials: what botocore makes of requests and files, nilas makes of them.

    python3 tests/catalogs/signing_test.py NILAS        (build/…/unit/aws_tool lies beside it)

Requests are signed by botocore and verified by nilas, and the other way round: botocore signs the request that nilas signed, with
the same headers at the same time, and both signatures are the same. Then every part of what was signed is changed in turn.
"""
import calendar
import datetime
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import urllib.parse
from unittest import mock

import botocore.auth
import botocore.loaders
import botocore.session
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from engines import counted, passed

NOW = datetime.datetime(2026, 10, 1, 12, 34, 56, tzinfo=datetime.timezone.utc)
SECONDS = calendar.timegm(NOW.timetuple())
KEY, SECRET, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "eu-west-1"


def check(what, actual, expected):
    if actual != expected:
        raise AssertionError(f"{what}:\n  is        {actual!r}\n  should be {expected!r}")
    counted.append(what)


class Tool:
    def __init__(self, program):
        self.program = program
        self.process = subprocess.Popen([program, "sigv4"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def once(self, *arguments, environment):
        return json.loads(subprocess.run([self.program, *arguments], env=environment, capture_output=True, text=True, check=True, timeout=60).stdout)

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)


# ---- requests ----

PATHS = ["/", "/a/b", "/a//b/", "/a/./b/../c", "/%C3%A4%20%2B", "/arn%3Aaws%3As3tables%3Aeu-west-1%3A1%3Abucket%2Fb", "/a=b,c;d@e:f", "/~tilde-_."]
QUERIES = ["", "a=1", "b=2&a=1&a=0", "list-type=2&prefix=a%2Fb&delimiter=%2F&max-keys=1000", "acl", "uploads=", "a=%2B%26%3D%20&%C3%A4=x", "a-b=1&a.b=2&a=3"]
HEADERS = [[], [("Content-Type", "application/json")], [("x-amz-meta-a", "  two   blanks "), ("X-Amz-Meta-B", "\ttab\t")], [("Range", "bytes=0-9"), ("x-amz-date-2", "")],
           [("x-amz-copy-source", "/b/k%20k?versionId=1"), ("content-md5", "XrY7u+Ae7tCTyyK7j1rNww==")]]
BODIES = [b"", b"hello", bytes(range(256))]


def requests(count):
    chosen = random.Random(7)
    for _ in range(count):
        yield (chosen.choice(["GET", "PUT", "POST", "DELETE", "HEAD"]), chosen.choice(PATHS), chosen.choice(QUERIES), chosen.choice(HEADERS), chosen.choice(BODIES),
               chosen.choice(["s3", "s3tables", "glue", "execute-api"]), chosen.choice([None, "a/session+token=="]))


def aws_request(method, path, query, headers, body):
    request = AWSRequest(method=method, url=f"https://service.example.com:8443{path}" + (f"?{query}" if query else ""), data=body)
    for name, value in headers:
        request.headers.add_header(name, value)
    return request


def signer_of(service, token, kind="header", **more):
    keys = Credentials(KEY, SECRET, token)
    if kind == "query":
        return (botocore.auth.S3SigV4QueryAuth if service == "s3" else botocore.auth.SigV4QueryAuth)(keys, service, REGION, **more)
    signer = (botocore.auth.S3SigV4Auth if service == "s3" else botocore.auth.SigV4Auth)(keys, service, REGION)
    if service == "s3":
        signer._should_sha256_sign_payload = lambda _: True
    return signer


def add_auth(signer, request):
    request.context["client_config"] = None
    with mock.patch("botocore.auth.get_current_datetime", return_value=NOW):
        signer.add_auth(request)


def verify(tool, method, path, query, headers, payload, secret=SECRET, now=SECONDS):
    return tool.ask(do="verify", method=method, path=path, query=query, headers=headers, payload=payload, secret=secret, now=now)["verdict"]


def botocore_signs(tool):
    for method, path, query, headers, body, service, token in requests(300):
        request = aws_request(method, path, query, headers, body)
        request.headers["Host"] = "service.example.com:8443"
        add_auth(signer_of(service, token), request)
        sent = [list(pair) for pair in request.headers.items()]
        payload = hashlib.sha256(body).hexdigest()
        what = f"{method} {path}?{query} {headers} {service}"
        check(what, verify(tool, method, path, query, sent, payload), "good")
        check(f"{what}, another body", verify(tool, method, path, query, sent, hashlib.sha256(body + b"x").hexdigest()), "wrong")
        check(f"{what}, another path", verify(tool, method, path + "x", query, sent, payload), "wrong")
        check(f"{what}, another query", verify(tool, method, path, query + "&x=1", sent, payload), "wrong")
        check(f"{what}, another key", verify(tool, method, path, query, sent, payload, secret=SECRET + "x"), "wrong")
        check(f"{what}, too late", verify(tool, method, path, query, sent, payload, now=SECONDS + 901), "skewed")
        for place, (name, value) in enumerate(sent):
            changed = [list(pair) for pair in sent]
            changed[place][1] = value[:-1] + ("0" if value[-1:] != "0" else "1")
            if name.lower() == "authorization" or name == "X-Amz-Date":
                assert verify(tool, method, path, query, changed, payload) != "good", (what, name)
            else:
                check(f"{what}, another {name}", verify(tool, method, path, query, changed, payload), "wrong")


def nilas_signs(tool):
    for method, path, query, headers, body, service, token in requests(300):
        payload = hashlib.sha256(body).hexdigest()
        given = [["Host", "service.example.com:8443"], *[list(pair) for pair in headers]]
        answer = tool.ask(do="sign", method=method, path=path, query=query, headers=given, payload=payload, service=service, region=REGION, access=KEY, secret=SECRET, token=token or "", now=SECONDS)
        signed = dict((name.lower(), value) for name, value in answer["headers"])
        authorization = signed.pop("authorization")
        names = authorization.split("SignedHeaders=")[1].split(",")[0].split(";")
        # botocore signs all headers that it sees: those that nilas signed.
        request = aws_request(method, path, query, [(name, value) for name, value in answer["headers"] if name.lower() in names and name.lower() != "authorization"], body)
        request.context["timestamp"] = NOW.strftime("%Y%m%dT%H%M%SZ")
        signer = signer_of(service, token)
        canonical = signer.canonical_request(request)
        check(f"{method} {path}?{query} {headers} {service}", authorization.rsplit("Signature=")[1], signer.signature(signer.string_to_sign(request, canonical), request))
        for must in ["host", "x-amz-date"] + (["x-amz-content-sha256"] if service == "s3" else []) + (["x-amz-security-token"] if token else []):
            assert must in names, (must, names)


def links(tool):
    for method, path, query, _, _, service, token in requests(100):
        payload = "UNSIGNED-PAYLOAD" if service == "s3" else hashlib.sha256(b"").hexdigest()
        request = aws_request(method, path, query, [], b"")
        add_auth(signer_of(service, token, "query", expires=60), request)
        parts = urllib.parse.urlsplit(request.url)
        host = [["Host", "service.example.com:8443"]]
        what = f"a link: {method} {path}?{query} {service}"
        check(what, verify(tool, method, path, parts.query, host, payload), "good")
        check(f"{what}, at its end", verify(tool, method, path, parts.query, host, payload, now=SECONDS + 60), "good")
        check(f"{what}, after it", verify(tool, method, path, parts.query, host, payload, now=SECONDS + 61), "expired")
        check(f"{what}, longer", verify(tool, method, path, parts.query.replace("X-Amz-Expires=60", "X-Amz-Expires=600"), host, payload), "wrong")
        check(f"{what}, another host", verify(tool, method, path, parts.query, [["Host", "other.example.com"]], payload), "wrong")
        ours = tool.ask(do="presign", method=method, path=path, query=query, headers=host, payload="", service=service, region=REGION, access=KEY, secret=SECRET, token=token or "",
                        now=SECONDS, expires=60)["query"]
        names = [name for name, _ in urllib.parse.parse_qsl(query, keep_blank_values=True)]
        if len(set(names)) < len(names):
            continue  # botocore leaves out all but the first of a name
        signature = urllib.parse.parse_qs(ours)["X-Amz-Signature"]
        check(f"{what}, signed by nilas", signature, urllib.parse.parse_qs(parts.query)["X-Amz-Signature"])


# ---- files ----

FILES = {
    "nothing": ("", ""),
    "the usual": ("[default]\nregion = eu-west-1\noutput = json\n\n[profile dev]\nregion = us-west-2\n", "[default]\naws_access_key_id = A\naws_secret_access_key = B\n\n[dev]\naws_access_key_id = C\naws_secret_access_key = D\naws_session_token = E\n"),
    "keys in the config": ("[default]\naws_access_key_id = A\naws_secret_access_key = B\nregion = x\n[profile dev]\naws_access_key_id = C\naws_secret_access_key = D\n", ""),
    "credentials win": ("[default]\naws_access_key_id = A\naws_secret_access_key = B\n", "[default]\naws_access_key_id = C\naws_secret_access_key = D\n"),
    "comments and blanks": ("# c\n; c\n\n[default]\n  # c\nregion=eu-west-1   \n   \n[profile dev]\nregion :us-east-2\n", "[default]\n\naws_access_key_id=A\n\n\naws_secret_access_key =B/+=\n"),
    "indented": ("[default]\n  region = eu-west-1\n  s3 =\n    addressing_style = path\n  output = json\n", "[default]\n  aws_access_key_id = A\n  aws_secret_access_key = B\n"),
    "blocks": ("[default]\nregion = x\ns3 =\n  max_concurrent_requests = 20\n  addressing_style = path\n\n[profile dev]\ns3 =\n  addressing_style = virtual\nregion = y\n", ""),
    "quoted names": ("[profile \"dev\"]\nregion = q\n[profile 'other one']\nregion = r\n", ""),
    "endpoints": ("[default]\nendpoint_url = http://all:1\nservices = local\nregion = x\n[profile dev]\nservices = local\n[services local]\ns3 =\n  endpoint_url = http://s3:2\nglue = \n  endpoint_url = http://glue:3\n", ""),
    "ignored endpoints": ("[default]\nendpoint_url = http://all:1\nignore_configured_endpoint_urls = true\n[profile dev]\nendpoint_url = http://dev:1\n", ""),
    "upper case": ("[default]\nREGION = eu-west-1\n[profile dev]\nRegion = x\n", "[default]\nAWS_ACCESS_KEY_ID = A\nAWS_SECRET_ACCESS_KEY = B\n"),
    "a command": ("[default]\ncredential_process = echo '{\"Version\": 1, \"AccessKeyId\": \"A\", \"SecretAccessKey\": \"B\", \"SessionToken\": \"T\"}'\n[profile dev]\nregion = x\n", ""),
    "Windows": ("[default]\r\nregion = eu-west-1\r\n", "[default]\r\naws_access_key_id = A\r\naws_secret_access_key = B\r\n"),
}
ENVIRONMENTS = [{}, {"AWS_PROFILE": "dev"}, {"AWS_DEFAULT_REGION": "env-region"}, {"AWS_ENDPOINT_URL": "http://env:9"}, {"AWS_ENDPOINT_URL_S3": "http://env-s3:9", "AWS_PROFILE": "dev"},
                {"AWS_ACCESS_KEY_ID": "EA", "AWS_SECRET_ACCESS_KEY": "EB", "AWS_SESSION_TOKEN": "ET"}, {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true", "AWS_ENDPOINT_URL": "http://env:9"}]


LOADER = botocore.loaders.create_loader()


def of_botocore(environment):
    """Region, endpoints, style and keys as a botocore session sees them."""
    with mock.patch.dict(os.environ, environment, clear=True):
        try:
            session = botocore.session.Session()
            session.register_component("data_loader", LOADER)  # which keeps the models that it has read
            keys = session.get_credentials()
            frozen = keys.get_frozen_credentials() if keys else None
            endpoints = {}
            for service in ("s3", "glue"):
                client = session.create_client(service, region_name=session.get_config_variable("region") or "us-east-1")
                url = client.meta.endpoint_url
                endpoints[service] = "" if "amazonaws.com" in url else url
            style = (session.get_config_variable("s3") or {}).get("addressing_style") == "path"
            return {"region": session.get_config_variable("region") or "", "endpoints": endpoints, "path_style": style,
                    "keys": [frozen.access_key, frozen.secret_key, frozen.token or ""] if frozen else None}
        except botocore.exceptions.ProfileNotFound:
            return "no profile"


def of_nilas(tool, environment):
    found = {service: tool.once("profile", service, environment=environment) for service in ("s3", "glue")}
    keys = tool.once("credentials", environment=environment)
    if "is in neither" in keys.get("error", ""):
        return "no profile"
    missing = "There are no AWS credentials" in keys.get("error", "")
    assert missing or "error" not in keys, keys
    return {"region": found["s3"]["region"], "endpoints": {service: answer["endpoint"] for service, answer in found.items()}, "path_style": found["s3"]["path_style"],
            "keys": None if missing else [keys["access"], keys["secret"], keys["token"]]}


def files(tool, folder):
    for name, (config, credentials) in FILES.items():
        for number, more in enumerate(ENVIRONMENTS):
            paths = {"AWS_CONFIG_FILE": os.path.join(folder, "config"), "AWS_SHARED_CREDENTIALS_FILE": os.path.join(folder, "credentials")}
            for path, text in zip(paths.values(), (config, credentials)):
                with open(path, "w", newline="") as file:
                    file.write(text)
            environment = {"PATH": os.environ["PATH"], "HOME": folder, "AWS_EC2_METADATA_DISABLED": "true", **paths, **more}
            expected = of_botocore(environment)
            check(f"{name}, environment {number}", of_nilas(tool, environment), expected)


def main():
    tool = Tool(os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "unit", "aws_tool"))
    with tempfile.TemporaryDirectory() as folder:
        botocore_signs(tool)
        nilas_signs(tool)
        links(tool)
        files(tool, folder)
    tool.stop()
    passed("signing")


if __name__ == "__main__":
    main()
