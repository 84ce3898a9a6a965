#!/usr/bin/env python3
"""Writes src/storage/sigv4_vectors.def: requests of every kind, with what botocore makes of them.

    python3 tests/signing/make_vectors.py > src/storage/sigv4_vectors.def      (needs botocore)

The requests are of the kinds that AWS's own suite has (paths with dots, slashes, spaces and UTF-8; queries in any order,
with empty names and reserved characters; headers there twice, in any case, with blanks; forms; session tokens), for a
service that normalises paths, and for S3, which does not.
"""
import datetime
import sys
from unittest import mock

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

NOW = datetime.datetime(2026, 10, 1, 12, 34, 56, tzinfo=datetime.timezone.utc)
HOST = "service.example.com"
KEY, SECRET, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "eu-west-1"
UNRESERVED = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

PATHS = {
    "the root": "/", "no path": "", "a plain path": "/a/b", "a slash at the end": "/a/b/", "two slashes": "//a//b//", "only slashes": "//",
    "a dot": "/./a/.", "dots that go up": "/a/b/../c", "dots that go above the root": "/../../a", "dots alone": "/a/..", "a dot and a slash at the end": "/a/./",
    "an encoded space": "/a%20b", "unreserved characters": "/" + UNRESERVED, "encoded UTF-8": "/%E1%88%B4", "reserved characters as they are": "/a=b,c;d@e:f!g$h&i'(j)*k+l",
    "reserved characters encoded": "/arn%3Aaws%3As3tables%3Aeu-west-1%3A1%3Abucket%2Fb", "a percent sign": "/100%25", "lower-case escapes": "/a%2fb%3ac",
}
QUERIES = {
    "one parameter": "Param1=value1", "names out of order": "Param2=value2&Param1=value1", "values out of order": "Param1=value2&Param1=Value1",
    "names in two cases": "param1=b&Param1=a", "a name alone": "acl", "a name with nothing": "acl=", "a value without a name": "=v", "a name that another begins with": "a-b=1&a=2&a.b=3",
    "unreserved characters": UNRESERVED + "=" + UNRESERVED, "encoded UTF-8": "%E1%88%B4=bar", "encoded reserved characters": "a=%2F%3D%26%2B%20&b%20c=d",
    "an equals sign in the value": "a=b=c", "of a listing": "list-type=2&prefix=a%2Fb&delimiter=%2F&encoding-type=url&max-keys=1000",
}
HEADERS = {
    "there twice": [("My-Header1", "value2"), ("My-Header1", "value2")], "there thrice, not in order": [("My-Header1", "value4"), ("My-Header1", "value1"), ("my-header1", "value3")],
    "with blanks": [("My-Header1", "  value1  "), ("My-Header2", ' "a   b   c"  ')], "with tabs": [("My-Header1", "a\tb \t c")], "in upper case": [("MY-HEADER1", "VALUE1")],
    "empty": [("My-Header1", "")], "that sort around each other": [("x-amz-b", "1"), ("x-amz-a-b", "2"), ("x-amz-a", "3"), ("A", "4")],
    "in UTF-8": [("My-Header1", "\u1234")], "that proxies change": [("User-Agent", "x"), ("Expect", "100-continue"), ("X-Amzn-Trace-Id", "y"), ("Transfer-Encoding", "chunked")],
}


def cases():
    for name, path in PATHS.items():
        for service in ("service", "s3") if path else ("service",):
            yield f"a path: {name} ({service})", "GET", path, "", [], b"", service, None
    for name, query in QUERIES.items():
        yield f"a query: {name}", "GET", "/", query, [], b"", "service", None
        yield f"a query: {name} (s3)", "GET", "/bucket", query, [], b"", "s3", None
    for name, headers in HEADERS.items():
        yield f"headers {name}", "GET", "/", "", headers, b"", "service", None
    yield "a POST without a body", "POST", "/", "", [], b"", "service", None
    yield "a form", "POST", "/", "", [("Content-Type", "application/x-www-form-urlencoded")], b"Param1=value1", "service", None
    yield "a form with a character set", "POST", "/", "", [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")], b"Param1=value1", "service", None
    yield "JSON 1.1", "POST", "/", "", [("Content-Type", "application/x-amz-json-1.1"), ("X-Amz-Target", "AWSGlue.GetTable")], b'{"Name": "t"}', "glue", None
    yield "a session token", "POST", "/", "", [], b"", "service", "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGd=="
    yield "a session token (s3)", "PUT", "/bucket/key", "", [("Content-Type", "text/plain"), ("Content-MD5", "XrY7u+Ae7tCTyyK7j1rNww==")], b"hello world", "s3", "token/+=="
    yield "a range (s3)", "GET", "/bucket/key", "", [("Range", "bytes=0-9")], b"", "s3", None
    yield "a copy (s3)", "PUT", "/bucket/key", "", [("x-amz-copy-source", "/other/a%20b?versionId=1"), ("x-amz-meta-a", " b  c ")], b"", "s3", None
    yield "a port in the host", "GET", "/", "", [("Host", "localhost:9000")], b"", "s3", None
    for method in ("HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"):
        yield f"the method {method}", method, "/a", "", [], b"", "service", None


def text(value):
    out = []
    for byte in value.encode():
        out.append(chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else "\\%03o" % byte)
    return '"' + "".join(out) + '"'


def main():
    print("/* storage/sigv4_vectors.def - made by tests/signing/make_vectors.py: requests and what botocore makes of them.")
    print(" * X(what, method, path, query, headers as sent (\"name\\037value\\036\" each), payload hash, service, session token, canonical request, signature). */")
    for what, method, path, query, headers, body, service, token in cases():
        kind = botocore.auth.S3SigV4Auth if service == "s3" else botocore.auth.SigV4Auth
        url = f"https://{HOST}{path}" + (f"?{query}" if query else "")
        request = AWSRequest(method=method, url=url, data=body)
        for name, value in headers:
            request.headers.add_header(name, value)
        if not any(name == "Host" for name, _ in headers):
            request.headers["Host"] = HOST
        if service == "s3":
            request.context["payload_signing_enabled"] = True
            request.context["client_config"] = None
        with mock.patch("botocore.auth.get_current_datetime", return_value=NOW):
            signer = kind(Credentials(KEY, SECRET, token), service, REGION)
            if service == "s3":
                signer._should_sha256_sign_payload = lambda _: True
            signer.add_auth(request)
            authorization = request.headers["Authorization"]
            del request.headers["Authorization"]
            canonical = signer.canonical_request(request)
        sent = "".join(f"{name}\x1f{value}\x1e" for name, value in request.headers.items())
        payload = canonical.rsplit("\n", 1)[1]
        signature = authorization.rsplit("Signature=", 1)[1]
        print(f"X({text(what)}, {text(method)}, {text(path)}, {text(query)}, {text(sent)}, {text(payload)}, {text(service)}, {text(token or '')}, {text(canonical)}, {text(signature)})")


if __name__ == "__main__":
    sys.exit(main())
