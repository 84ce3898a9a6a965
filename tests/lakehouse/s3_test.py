#!/usr/bin/env python3
"""S3 with boto3 as people call it, and with requests made by hand where boto3 would not err."""
import base64
import datetime
import hashlib
import http.client
import os
import socket
import sys
import time
import urllib.parse
import zlib

import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import botocore.exceptions

import support
from support import Lakehouse, check, equal

CONFIG = botocore.config.Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1})
LAKE = None


CLIENTS = {}


def s3():
    """The client; kept, for making one takes botocore long."""
    if LAKE.process not in CLIENTS:
        CLIENTS[LAKE.process] = LAKE.client("s3", config=CONFIG.merge(botocore.config.Config(signature_version="s3v4")))
    return CLIENTS[LAKE.process]


def fails(code, status, call, *args, **kwargs):
    """The call fails with this code (HEAD: the status as text)."""
    try:
        call(*args, **kwargs)
    except botocore.exceptions.ClientError as error:
        got = (error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"])
        return equal(got, (code, status), str(error))
    return check(False, f"{code} was expected, the call succeeded")


count = 0


def bucket(client, **options):
    """A new bucket of the test's own."""
    global count
    count += 1
    name = f"bucket-{count}"
    client.create_bucket(Bucket=name, **options)
    return name


def test_buckets():
    c = s3()
    name = bucket(c)
    equal(c.create_bucket(Bucket=name)["Location"], "/" + name)
    check(name in [b["Name"] for b in c.list_buckets()["Buckets"]], "listed")
    equal(c.list_buckets(Prefix=name)["Buckets"][0]["Name"], name)
    page = c.list_buckets(MaxBuckets=1)
    check(len(page["Buckets"]) == 1, "one a page")
    c.head_bucket(Bucket=name)
    equal(c.get_bucket_location(Bucket=name)["LocationConstraint"], None)
    tagged = bucket(c, CreateBucketConfiguration={"Tags": [{"Key": "a", "Value": "<b>"}]})
    equal(c.get_bucket_tagging(Bucket=tagged)["TagSet"], [{"Key": "a", "Value": "<b>"}])
    west = bucket(c, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    equal(c.get_bucket_location(Bucket=west)["LocationConstraint"], "eu-west-1")
    fails("BucketAlreadyOwnedByYou", 409, c.create_bucket, Bucket=west, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    fails("404", 404, c.head_bucket, Bucket="no-such-bucket")
    fails("NoSuchBucket", 404, c.delete_bucket, Bucket="no-such-bucket")
    fails("NoSuchBucket", 404, c.list_objects_v2, Bucket="no-such-bucket")
    fails("NoSuchBucket", 404, c.put_object, Bucket="no-such-bucket", Key="k", Body=b"x")
    fails("InvalidBucketName", 400, c.create_bucket, Bucket="Upper.Case")
    c.put_object(Bucket=name, Key="k")
    fails("BucketNotEmpty", 409, c.delete_bucket, Bucket=name)
    c.delete_object(Bucket=name, Key="k")
    equal(c.delete_bucket(Bucket=name)["ResponseMetadata"]["HTTPStatusCode"], 204)


def test_objects_of_many_sizes():
    c = s3()
    b = bucket(c)
    for size in (0, 1, 65535, 65536, 65537, 1000000, 9 << 20):
        body = os.urandom(size)
        put = c.put_object(Bucket=b, Key=f"k{size}", Body=body, ContentType="text/x", Metadata={"who": "me", "empty": ""})
        equal(put["ETag"], '"' + hashlib.md5(body).hexdigest() + '"')
        equal(put["ChecksumCRC32"], base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode())
        got = c.get_object(Bucket=b, Key=f"k{size}", ChecksumMode="ENABLED")
        check(got["Body"].read() == body, f"{size} bytes come back")
        equal((got["ContentLength"], got["ContentType"], got["Metadata"], got["ETag"], got["ChecksumCRC32"], got["ChecksumType"]),
              (size, "text/x", {"who": "me", "empty": ""}, put["ETag"], put["ChecksumCRC32"], "FULL_OBJECT"))
        head = c.head_object(Bucket=b, Key=f"k{size}")
        equal((head["ContentLength"], head["ETag"], head["AcceptRanges"]), (size, put["ETag"], "bytes"))
    fails("NoSuchKey", 404, c.get_object, Bucket=b, Key="none")
    fails("404", 404, c.head_object, Bucket=b, Key="none")
    equal(c.delete_object(Bucket=b, Key="none")["ResponseMetadata"]["HTTPStatusCode"], 204)
    equal(c.put_object(Bucket=b, Key="plain")["ResponseMetadata"]["HTTPStatusCode"], 200)
    equal(c.get_object(Bucket=b, Key="plain")["ContentType"], "binary/octet-stream")


def test_every_header_comes_back():
    c = s3()
    b = bucket(c)
    kept = {"CacheControl": "no-cache", "ContentDisposition": 'attachment; filename="x"', "ContentEncoding": "gzip", "ContentLanguage": "de", "ContentType": "application/json",
            "WebsiteRedirectLocation": "/other", "StorageClass": "STANDARD_IA", "ServerSideEncryption": "AES256"}
    c.put_object(Bucket=b, Key="k", Body=b"{}", Tagging="a=1&b=2", Expires=datetime.datetime(2030, 1, 2, 3, 4, 5), **kept)
    got = c.get_object(Bucket=b, Key="k")
    for name, value in kept.items():
        equal(got.get(name), value, name)
    equal(got["ExpiresString"], "Wed, 02 Jan 2030 03:04:05 GMT")
    equal(got["TagCount"], 2)
    over = c.get_object(Bucket=b, Key="k", ResponseCacheControl="max-age=1", ResponseContentType="text/html", ResponseContentDisposition="inline", ResponseContentLanguage="en",
                        ResponseContentEncoding="identity", ResponseExpires=datetime.datetime(2031, 1, 1))
    equal((over["CacheControl"], over["ContentType"], over["ContentDisposition"], over["ContentLanguage"], over["ContentEncoding"]), ("max-age=1", "text/html", "inline", "en", "identity"))
    fails("MetadataTooLarge", 400, c.put_object, Bucket=b, Key="m", Metadata={"x": "y" * 2048})
    fails("InvalidStorageClass", 400, c.put_object, Bucket=b, Key="m", StorageClass="CHEAP")
    fails("NotImplemented", 501, c.put_object, Bucket=b, Key="m", SSECustomerAlgorithm="AES256", SSECustomerKey="k" * 32)
    fails("AccessControlListNotSupported", 400, c.put_object, Bucket=b, Key="m", ACL="public-read")
    fails("AccessControlListNotSupported", 400, c.put_object, Bucket=b, Key="m", GrantRead="id=x")
    fails("InvalidRequest", 400, c.get_object, Bucket=b, Key="k", SSECustomerAlgorithm="AES256", SSECustomerKey="k" * 32)


def test_ranges():
    c = s3()
    b = bucket(c)
    for key, size in (("small", 1000), ("large", 300000)):
        body = os.urandom(size)
        c.put_object(Bucket=b, Key=key, Body=body)
        for text, start, end in (("bytes=0-9", 0, 10), ("bytes=10-", 10, size), ("bytes=-7", size - 7, size), ("bytes=0-99999999", 0, size), (f"bytes=-{size * 2}", 0, size), ("bytes=999-999", 999, 1000)):
            got = c.get_object(Bucket=b, Key=key, Range=text)
            check(got["Body"].read() == body[start:end], f"{key} {text}")
            equal((got["ContentRange"], got["ResponseMetadata"]["HTTPStatusCode"]), (f"bytes {start}-{end - 1}/{size}", 206))
            head = c.head_object(Bucket=b, Key=key, Range=text)
            equal((head["ContentLength"], head["ResponseMetadata"]["HTTPStatusCode"]), (end - start, 206))
        for text in ("bytes=5-3", "bytes=a-b", "items=0-1", "bytes=0-1,5-6", "bytes"):
            got = c.get_object(Bucket=b, Key=key, Range=text)
            equal((got["ResponseMetadata"]["HTTPStatusCode"], len(got["Body"].read())), (200, size), text)
        for text in (f"bytes={size}-", "bytes=-0", "bytes=999999999999999999999-"):
            fails("InvalidRange", 416, c.get_object, Bucket=b, Key=key, Range=text)
    c.put_object(Bucket=b, Key="empty")
    fails("InvalidRange", 416, c.get_object, Bucket=b, Key="empty", Range="bytes=0-")


def test_conditions():
    c = s3()
    b = bucket(c)
    etag = c.put_object(Bucket=b, Key="k", Body=b"1", IfNoneMatch="*")["ETag"]
    fails("PreconditionFailed", 412, c.put_object, Bucket=b, Key="k", Body=b"2", IfNoneMatch="*")
    fails("PreconditionFailed", 412, c.put_object, Bucket=b, Key="k", Body=b"2", IfMatch='"other"')
    fails("NoSuchKey", 404, c.put_object, Bucket=b, Key="none", Body=b"2", IfMatch=etag)
    modified = c.head_object(Bucket=b, Key="k")["LastModified"]
    hour = datetime.timedelta(hours=1)
    for good in ({"IfMatch": etag}, {"IfMatch": "*"}, {"IfNoneMatch": '"x"'}, {"IfModifiedSince": modified - hour}, {"IfUnmodifiedSince": modified}, {"IfMatch": etag, "IfUnmodifiedSince": modified - hour}):
        equal(c.get_object(Bucket=b, Key="k", **good)["Body"].read(), b"1", str(good))
    for same in ({"IfNoneMatch": etag}, {"IfModifiedSince": modified}, {"IfNoneMatch": '"x", ' + etag}):
        fails("304", 304, c.get_object, Bucket=b, Key="k", **same)
        fails("304", 304, c.head_object, Bucket=b, Key="k", **same)
    for bad in ({"IfMatch": '"x"'}, {"IfUnmodifiedSince": modified - hour}):
        fails("PreconditionFailed", 412, c.get_object, Bucket=b, Key="k", **bad)
        fails("412", 412, c.head_object, Bucket=b, Key="k", **bad)
    fails("PreconditionFailed", 412, c.delete_object, Bucket=b, Key="k", IfMatch='"x"')
    c.put_object(Bucket=b, Key="k", Body=b"2", IfMatch=etag)
    equal(c.get_object(Bucket=b, Key="k")["Body"].read(), b"2")


def test_keys_are_opaque():
    c = s3()
    b = bucket(c)
    keys = ["/", "//", "a//b", "a/../b", "../../etc/passwd", ".", "..", "a/", "trailing space ", " lead", "plus+sign", "per%cent", "per%25cent", "q?x=1&y", "#hash", "ünïcode/日本語/🎉", "tab\there",
            "line\nfeed", "<xml>&\"'", "x" * 1024, "a" * 300 + "/" + "b" * 300, "~tilde", "back\\slash", "%2F", "semi;colon", "=eq", "*?[]", "\x01\x1f\x7f"]
    for key in keys:
        c.put_object(Bucket=b, Key=key, Body=key.encode())
    for key in keys:
        equal(c.get_object(Bucket=b, Key=key)["Body"].read(), key.encode(), repr(key))
    listed = [o["Key"] for o in c.list_objects_v2(Bucket=b)["Contents"]]
    equal(listed, sorted(keys, key=lambda k: k.encode()))
    equal([o["Key"] for o in c.list_objects(Bucket=b)["Contents"]], listed)
    result = c.delete_objects(Bucket=b, Delete={"Objects": [{"Key": k} for k in keys if "\x01" not in k]})
    equal(sorted(d["Key"] for d in result["Deleted"]), sorted(k for k in keys if "\x01" not in k))
    fails("KeyTooLongError", 400, c.put_object, Bucket=b, Key="x" * 1025)


def everything(call, name, **args):
    """Every page's keys and prefixes, and the number of pages."""
    keys, prefixes, pages = [], [], 0
    for page in s3().get_paginator(call).paginate(Bucket=name, **args):
        keys += [o["Key"] for o in page.get("Contents", [])]
        prefixes += [p["Prefix"] for p in page.get("CommonPrefixes", [])]
        pages += 1
    return keys, prefixes, pages


def test_listings():
    c = s3()
    b = bucket(c)
    keys = sorted([f"d{i}/f{k}" for i in range(5) for k in range(3)] + ["a", "b", "d2", "d2-x", "z/", "z/y/x"])
    for key in keys:
        c.put_object(Bucket=b, Key=key, Body=b"12")
    for call in ("list_objects_v2", "list_objects"):
        equal(everything(call, b), (keys, [], 1))
        equal(everything(call, b, PaginationConfig={"PageSize": 4})[0], keys)
        for size in (1, 2, 3, 1000):
            got = everything(call, b, Delimiter="/", PaginationConfig={"PageSize": size})
            equal(got[:2], (["a", "b", "d2", "d2-x"], ["d0/", "d1/", "d2/", "d3/", "d4/", "z/"]), f"{call} {size}")
        equal(everything(call, b, Prefix="d2")[0], ["d2", "d2-x", "d2/f0", "d2/f1", "d2/f2"])
        equal(everything(call, b, Prefix="d2", Delimiter="/")[:2], (["d2", "d2-x"], ["d2/"]))
        equal(everything(call, b, Prefix="z/", Delimiter="/")[:2], (["z/"], ["z/y/"]))
        equal(everything(call, b, Delimiter="2")[:2], ([k for k in keys if "2" not in k], ["d0/f2", "d1/f2", "d2", "d3/f2", "d4/f2"]))
        equal(everything(call, b, Prefix="nothing"), ([], [], 1))
    one = c.list_objects_v2(Bucket=b, MaxKeys=2, FetchOwner=True)
    equal((one["KeyCount"], one["IsTruncated"], one["MaxKeys"], one["Name"]), (2, True, 2, b))
    equal((one["Contents"][0]["Size"], one["Contents"][0]["StorageClass"], "Owner" in one["Contents"][0]), (2, "STANDARD", True))
    equal([o["Key"] for o in c.list_objects_v2(Bucket=b, StartAfter="d4/f1")["Contents"]], ["d4/f2", "z/", "z/y/x"])
    equal(c.list_objects_v2(Bucket=b, MaxKeys=0)["KeyCount"], 0)
    equal(c.list_objects_v2(Bucket=b, MaxKeys=5000)["MaxKeys"], 1000)
    equal([o["Key"] for o in c.list_objects(Bucket=b, Marker="d4/f1")["Contents"]], ["d4/f2", "z/", "z/y/x"])
    fails("InvalidArgument", 400, c.list_objects_v2, Bucket=b, ContinuationToken="!!")
    fails("InvalidArgument", 400, c.list_objects_v2, Bucket=b, MaxKeys=-1)


def test_deleting_many():
    c = s3()
    b = bucket(c)
    for i in range(20):
        c.put_object(Bucket=b, Key=f"k{i}", Body=b"x" * (70000 if i % 2 else 10))
    result = c.delete_objects(Bucket=b, Delete={"Objects": [{"Key": f"k{i}"} for i in range(10)] + [{"Key": "none"}]})
    equal(len(result["Deleted"]), 11)
    check("Deleted" not in c.delete_objects(Bucket=b, Delete={"Objects": [{"Key": f"k{i}"} for i in range(10, 20)], "Quiet": True}), "quiet")
    equal(c.list_objects_v2(Bucket=b)["KeyCount"], 0)
    fails("MalformedXML", 400, c.delete_objects, Bucket=b, Delete={"Objects": [{"Key": str(i)} for i in range(1001)]})
    fails("MalformedXML", 400, c.delete_objects, Bucket=b, Delete={"Objects": []})


def test_copies():
    c = s3()
    b = bucket(c)
    other = bucket(c)
    body = os.urandom(200000)
    put = c.put_object(Bucket=b, Key="a b/ü+", Body=body, Metadata={"x": "1"}, Tagging="t=1", ContentType="text/q")
    source = {"Bucket": b, "Key": "a b/ü+"}
    copied = c.copy_object(Bucket=other, Key="copy", CopySource=source)
    equal((copied["CopyObjectResult"]["ETag"], copied["CopyObjectResult"]["ChecksumCRC32"]), (put["ETag"], put["ChecksumCRC32"]))
    got = c.get_object(Bucket=other, Key="copy")
    check(got["Body"].read() == body, "the bytes are the source's")
    equal((got["Metadata"], got["ContentType"], got["TagCount"]), ({"x": "1"}, "text/q", 1))
    c.copy_object(Bucket=other, Key="new", CopySource=source, MetadataDirective="REPLACE", Metadata={"y": "2"}, TaggingDirective="REPLACE", Tagging="u=2&v=3", ChecksumAlgorithm="SHA256")
    got = c.get_object(Bucket=other, Key="new", ChecksumMode="ENABLED")
    equal((got["Metadata"], got["ContentType"], got["TagCount"], got["ChecksumSHA256"]), ({"y": "2"}, "binary/octet-stream", 2, base64.b64encode(hashlib.sha256(body).digest()).decode()))
    c.delete_object(**source)
    check(c.get_object(Bucket=other, Key="copy")["Body"].read() == body, "a copy outlives its source")
    copy = {"Bucket": other, "Key": "copy"}
    fails("InvalidRequest", 400, c.copy_object, CopySource=copy, **copy)
    c.copy_object(CopySource=copy, MetadataDirective="REPLACE", Metadata={"z": "3"}, **copy)
    equal(c.head_object(**copy)["Metadata"], {"z": "3"})
    check(c.get_object(**copy)["Body"].read() == body, "copied onto itself")
    fails("NoSuchKey", 404, c.copy_object, Bucket=b, Key="k", CopySource=source)
    fails("NoSuchBucket", 404, c.copy_object, Bucket="no-such-bucket", Key="k", CopySource=copy)
    for bad in ({"CopySourceIfMatch": '"x"'}, {"CopySourceIfNoneMatch": put["ETag"]}, {"CopySourceIfModifiedSince": datetime.datetime(2040, 1, 1)}, {"CopySourceIfUnmodifiedSince": datetime.datetime(2000, 1, 1)}):
        fails("PreconditionFailed", 412, c.copy_object, Bucket=b, Key="k", CopySource=copy, **bad)
    fails("PreconditionFailed", 412, c.copy_object, Bucket=other, Key="new", CopySource=copy, IfNoneMatch="*")


def upload(c, b, key, parts, **options):
    """A multipart upload of these bodies; the answer of its completion."""
    made = c.create_multipart_upload(Bucket=b, Key=key, **options)
    done = []
    for i, body in enumerate(parts, 1):
        answer = c.upload_part(Bucket=b, Key=key, UploadId=made["UploadId"], PartNumber=i, Body=body)
        done.append({"PartNumber": i, **{k: v for k, v in answer.items() if k == "ETag" or k.startswith("Checksum")}})
    return c.complete_multipart_upload(Bucket=b, Key=key, UploadId=made["UploadId"], MultipartUpload={"Parts": done})


def test_multipart():
    c = s3()
    b = bucket(c)
    parts = [os.urandom(5 << 20), os.urandom((5 << 20) + 17), b"tail"]
    whole = b"".join(parts)
    result = upload(c, b, "big", parts, ContentType="text/big", Metadata={"m": "1"}, Tagging="a=b", ChecksumAlgorithm="CRC32")
    etag = '"' + hashlib.md5(b"".join(hashlib.md5(p).digest() for p in parts)).hexdigest() + '-3"'
    equal(result["ETag"], etag)
    composite = base64.b64encode(zlib.crc32(b"".join(zlib.crc32(p).to_bytes(4, "big") for p in parts)).to_bytes(4, "big")).decode() + "-3"
    equal((result["ChecksumCRC32"], result["ChecksumType"]), (composite, "COMPOSITE"))
    got = c.get_object(Bucket=b, Key="big", ChecksumMode="ENABLED")
    check(got["Body"].read() == whole, "the parts follow each other")
    equal((got["ContentType"], got["Metadata"], got["TagCount"], got["ETag"], got["ChecksumCRC32"]), ("text/big", {"m": "1"}, 1, etag, composite))
    for start, end in ((0, 10), ((5 << 20) - 5, (5 << 20) + 5), (len(whole) - 6, len(whole)), (100, len(whole) - 100)):
        check(c.get_object(Bucket=b, Key="big", Range=f"bytes={start}-{end - 1}")["Body"].read() == whole[start:end], f"range {start}-{end}")
    second = c.get_object(Bucket=b, Key="big", PartNumber=2)
    check(second["Body"].read() == parts[1], "one part")
    equal((second["PartsCount"], second["ResponseMetadata"]["HTTPStatusCode"]), (3, 206))
    equal(c.head_object(Bucket=b, Key="big", PartNumber=3)["ContentLength"], 4)
    fails("InvalidPartNumber", 416, c.get_object, Bucket=b, Key="big", PartNumber=4)
    attributes = c.get_object_attributes(Bucket=b, Key="big", ObjectAttributes=["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"])
    equal((attributes["ETag"], attributes["ObjectSize"], attributes["StorageClass"], attributes["ObjectParts"]["TotalPartsCount"], [p["Size"] for p in attributes["ObjectParts"]["Parts"]]),
          (etag.strip('"'), len(whole), "STANDARD", 3, [len(p) for p in parts]))
    c.copy_object(Bucket=b, Key="copy", CopySource={"Bucket": b, "Key": "big"})
    c.delete_object(Bucket=b, Key="big")
    check(c.get_object(Bucket=b, Key="copy")["Body"].read() == whole, "a copy of many parts")
    one = upload(c, b, "one", [b"12345"])
    equal(one["ETag"], '"' + hashlib.md5(hashlib.md5(b"12345").digest()).hexdigest() + '-1"')


def test_full_object_checksums_are_combined():
    c = s3()
    b = bucket(c)
    parts = [os.urandom(5 << 20), os.urandom((5 << 20) + 3), os.urandom(12345)]
    whole = b"".join(parts)
    result = upload(c, b, "k", parts, ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")
    equal((result["ChecksumCRC32"], result["ChecksumType"]), (base64.b64encode(zlib.crc32(whole).to_bytes(4, "big")).decode(), "FULL_OBJECT"))
    try:
        import awscrt.checksums  # noqa: F401
    except ImportError:
        return
    for name in ("CRC64NVME", "CRC32C"):
        single = c.put_object(Bucket=b, Key="single", Body=whole, ChecksumAlgorithm=name)
        result = upload(c, b, "k", parts, ChecksumAlgorithm=name, ChecksumType="FULL_OBJECT")
        equal(result["Checksum" + name], single["Checksum" + name], name)


def test_multipart_errors_and_lists():
    c = s3()
    b = bucket(c)
    made = c.create_multipart_upload(Bucket=b, Key="a/k")
    again = c.create_multipart_upload(Bucket=b, Key="a/k")
    up = {"Bucket": b, "Key": "a/k", "UploadId": made["UploadId"]}
    tags = [c.upload_part(PartNumber=n, Body=b"%d" % n, **up)["ETag"] for n in (1, 2, 3)]
    complete = lambda *parts: c.complete_multipart_upload(MultipartUpload={"Parts": [{"PartNumber": n, "ETag": t} for n, t in parts]}, **up)
    fails("InvalidPartOrder", 400, complete, (2, tags[1]), (1, tags[0]))
    fails("InvalidPart", 400, complete, (1, tags[1]))
    fails("InvalidPart", 400, complete, (7, tags[1]))
    fails("EntityTooSmall", 400, complete, (1, tags[0]), (2, tags[1]))
    fails("MalformedXML", 400, c.complete_multipart_upload, **up)
    fails("NoSuchUpload", 404, c.upload_part, Bucket=b, Key="a/k", UploadId="x", PartNumber=1, Body=b"")
    fails("NoSuchUpload", 404, c.list_parts, Bucket=b, Key="other", UploadId=made["UploadId"])
    fails("InvalidArgument", 400, c.upload_part, PartNumber=10001, Body=b"", **up)
    fails("InvalidArgument", 400, c.upload_part, PartNumber=0, Body=b"", **up)
    page = c.list_parts(MaxParts=2, **up)
    equal(([p["PartNumber"] for p in page["Parts"]], page["IsTruncated"], page["NextPartNumberMarker"]), ([1, 2], True, 2))
    equal([p["Size"] for p in c.list_parts(PartNumberMarker=2, **up)["Parts"]], [1])
    listed = c.list_multipart_uploads(Bucket=b)["Uploads"]
    equal([u["UploadId"] for u in listed], [made["UploadId"], again["UploadId"]])
    first = c.list_multipart_uploads(Bucket=b, MaxUploads=1)
    equal((first["IsTruncated"], first["NextKeyMarker"], first["NextUploadIdMarker"]), (True, "a/k", made["UploadId"]))
    equal([u["UploadId"] for u in c.list_multipart_uploads(Bucket=b, KeyMarker="a/k", UploadIdMarker=made["UploadId"])["Uploads"]], [again["UploadId"]])
    equal(c.list_multipart_uploads(Bucket=b, Delimiter="/")["CommonPrefixes"], [{"Prefix": "a/"}])
    c.abort_multipart_upload(Bucket=b, Key="a/k", UploadId=again["UploadId"])
    fails("NoSuchUpload", 404, c.abort_multipart_upload, Bucket=b, Key="a/k", UploadId=again["UploadId"])
    result = complete((2, tags[1]))
    equal(c.get_object(Bucket=b, Key="a/k")["Body"].read(), b"2")
    equal(complete((2, tags[1]))["ETag"], result["ETag"], "asked again after a lost answer")
    made = c.create_multipart_upload(Bucket=b, Key="a/k")
    up = {"Bucket": b, "Key": "a/k", "UploadId": made["UploadId"]}
    tag = c.upload_part(PartNumber=1, Body=b"new", **up)["ETag"]
    fails("PreconditionFailed", 412, c.complete_multipart_upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": tag}]}, IfNoneMatch="*", **up)


def test_part_copies():
    c = s3()
    b = bucket(c)
    body = os.urandom(11 << 20)
    c.put_object(Bucket=b, Key="source", Body=body)
    up = {"Bucket": b, "Key": "k", "UploadId": c.create_multipart_upload(Bucket=b, Key="k")["UploadId"]}
    source = {"Bucket": b, "Key": "source"}
    ranges = [(0, (6 << 20) - 1), (6 << 20, (11 << 20) - 1)]
    done = [{"PartNumber": n, "ETag": c.upload_part_copy(PartNumber=n, CopySource=source, CopySourceRange=f"bytes={a}-{z}", **up)["CopyPartResult"]["ETag"]} for n, (a, z) in enumerate(ranges, 1)]
    fails("InvalidArgument", 400, c.upload_part_copy, PartNumber=3, CopySource=source, CopySourceRange=f"bytes=0-{11 << 20}", **up)
    fails("InvalidArgument", 400, c.upload_part_copy, PartNumber=3, CopySource=source, CopySourceRange="bytes=5-", **up)
    fails("NoSuchKey", 404, c.upload_part_copy, PartNumber=3, CopySource={"Bucket": b, "Key": "none"}, **up)
    c.complete_multipart_upload(MultipartUpload={"Parts": done}, **up)
    check(c.get_object(Bucket=b, Key="k")["Body"].read() == body, "the whole again")


def test_transfers_in_parallel():
    import boto3.s3.transfer
    c = s3()
    b = bucket(c)
    path = LAKE.folder + "/file"
    body = os.urandom(40 << 20)
    with open(path, "wb") as file:
        file.write(body)
    c.upload_file(path, b, "file", Config=boto3.s3.transfer.TransferConfig(multipart_threshold=8 << 20, max_concurrency=8))
    c.download_file(b, "file", path + "2")
    with open(path + "2", "rb") as file:
        check(file.read() == body, "up and down")


def test_versions():
    c = s3()
    b = bucket(c)
    check("Status" not in c.get_bucket_versioning(Bucket=b), "off at first")
    c.put_object(Bucket=b, Key="k", Body=b"null")
    c.put_bucket_versioning(Bucket=b, VersioningConfiguration={"Status": "Enabled"})
    equal(c.get_bucket_versioning(Bucket=b)["Status"], "Enabled")
    ids = [c.put_object(Bucket=b, Key="k", Body=b"%d" % i)["VersionId"] for i in range(3)]
    equal(len(set(ids)), 3)
    for i, version in enumerate(ids):
        got = c.get_object(Bucket=b, Key="k", VersionId=version)
        equal((got["Body"].read(), got["VersionId"]), (b"%d" % i, version))
    equal(c.get_object(Bucket=b, Key="k", VersionId="null")["Body"].read(), b"null")
    marker = c.delete_object(Bucket=b, Key="k")
    check(marker["DeleteMarker"] and marker["VersionId"] not in ids, "a marker")
    fails("NoSuchKey", 404, c.get_object, Bucket=b, Key="k")
    fails("MethodNotAllowed", 405, c.get_object, Bucket=b, Key="k", VersionId=marker["VersionId"])
    fails("405", 405, c.head_object, Bucket=b, Key="k", VersionId=marker["VersionId"])
    fails("NoSuchVersion", 404, c.get_object, Bucket=b, Key="k", VersionId="0" * 32)
    equal(c.list_objects_v2(Bucket=b)["KeyCount"], 0)
    listed = c.list_object_versions(Bucket=b)
    equal([v["VersionId"] for v in listed["Versions"]], ids[::-1] + ["null"])
    equal([(m["VersionId"], m["IsLatest"]) for m in listed["DeleteMarkers"]], [(marker["VersionId"], True)])
    pages = list(c.get_paginator("list_object_versions").paginate(Bucket=b, PaginationConfig={"PageSize": 2}))
    equal([v["VersionId"] for p in pages for v in p.get("Versions", [])], ids[::-1] + ["null"], f"{len(pages)} pages")
    plain = bucket(c)
    for i in range(5):
        c.put_object(Bucket=plain, Key=f"k{i}")
    page = c.list_object_versions(Bucket=plain, MaxKeys=2)
    c.delete_objects(Bucket=plain, Delete={"Objects": [{"Key": v["Key"], "VersionId": v["VersionId"]} for v in page["Versions"]]})
    rest = c.list_object_versions(Bucket=plain, KeyMarker=page["NextKeyMarker"], VersionIdMarker=page["NextVersionIdMarker"])
    equal([v["Key"] for v in rest["Versions"]], ["k2", "k3", "k4"], "paging goes on where the last page was deleted")
    equal(c.delete_object(Bucket=b, Key="k", VersionId=marker["VersionId"])["DeleteMarker"], True)
    equal(c.get_object(Bucket=b, Key="k")["Body"].read(), b"2")
    c.delete_object(Bucket=b, Key="k", VersionId=ids[2])
    equal(c.get_object(Bucket=b, Key="k")["Body"].read(), b"1")
    copied = c.copy_object(Bucket=b, Key="k", CopySource={"Bucket": b, "Key": "k", "VersionId": ids[0]})
    equal((copied["CopySourceVersionId"], c.get_object(Bucket=b, Key="k")["Body"].read()), (ids[0], b"0"))
    c.put_bucket_versioning(Bucket=b, VersioningConfiguration={"Status": "Suspended"})
    c.put_object(Bucket=b, Key="k", Body=b"suspended")
    equal(c.get_object(Bucket=b, Key="k", VersionId="null")["Body"].read(), b"suspended")
    fails("BucketNotEmpty", 409, c.delete_bucket, Bucket=b)
    many = c.delete_objects(Bucket=b, Delete={"Objects": [{"Key": "k", "VersionId": v["VersionId"]} for v in c.list_object_versions(Bucket=b)["Versions"]]})
    check("Errors" not in many, "removed by version")
    c.delete_bucket(Bucket=b)


def test_tags():
    c = s3()
    b = bucket(c)
    c.put_object(Bucket=b, Key="k")
    equal(c.get_object_tagging(Bucket=b, Key="k")["TagSet"], [])
    tags = [{"Key": "a b", "Value": "1&2=3"}, {"Key": "ü", "Value": ""}]
    c.put_object_tagging(Bucket=b, Key="k", Tagging={"TagSet": tags})
    equal(c.get_object_tagging(Bucket=b, Key="k")["TagSet"], tags)
    fails("BadRequest", 400, c.put_object_tagging, Bucket=b, Key="k", Tagging={"TagSet": [{"Key": str(i), "Value": ""} for i in range(11)]})
    fails("InvalidTag", 400, c.put_object_tagging, Bucket=b, Key="k", Tagging={"TagSet": [{"Key": "k" * 129, "Value": ""}]})
    fails("InvalidTag", 400, c.put_object_tagging, Bucket=b, Key="k", Tagging={"TagSet": [{"Key": "a", "Value": ""}, {"Key": "a", "Value": ""}]})
    equal(c.delete_object_tagging(Bucket=b, Key="k")["ResponseMetadata"]["HTTPStatusCode"], 204)
    equal(c.get_object_tagging(Bucket=b, Key="k")["TagSet"], [])
    fails("NoSuchKey", 404, c.get_object_tagging, Bucket=b, Key="none")
    fails("NoSuchTagSet", 404, c.get_bucket_tagging, Bucket=b)
    c.put_bucket_tagging(Bucket=b, Tagging={"TagSet": tags})
    equal(c.get_bucket_tagging(Bucket=b)["TagSet"], tags)
    c.delete_bucket_tagging(Bucket=b)
    fails("NoSuchTagSet", 404, c.get_bucket_tagging, Bucket=b)


def test_documents_of_buckets():
    c = s3()
    b = bucket(c)
    policy = '{"Version":"2012-10-17","Statement":[]}'
    fails("NoSuchBucketPolicy", 404, c.get_bucket_policy, Bucket=b)
    c.put_bucket_policy(Bucket=b, Policy=policy)
    equal(c.get_bucket_policy(Bucket=b)["Policy"], policy)
    equal(c.get_bucket_policy_status(Bucket=b)["PolicyStatus"]["IsPublic"], False)
    fails("MalformedPolicy", 400, c.put_bucket_policy, Bucket=b, Policy="{")
    c.delete_bucket_policy(Bucket=b)
    fails("NoSuchLifecycleConfiguration", 404, c.get_bucket_lifecycle_configuration, Bucket=b)
    rules = [{"ID": "r", "Status": "Enabled", "Filter": {"Prefix": "x"}, "Expiration": {"Days": 3}}]
    c.put_bucket_lifecycle_configuration(Bucket=b, LifecycleConfiguration={"Rules": rules})
    equal(c.get_bucket_lifecycle_configuration(Bucket=b)["Rules"], rules)
    c.delete_bucket_lifecycle(Bucket=b)
    cors = [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"]}]
    fails("NoSuchCORSConfiguration", 404, c.get_bucket_cors, Bucket=b)
    c.put_bucket_cors(Bucket=b, CORSConfiguration={"CORSRules": cors})
    equal(c.get_bucket_cors(Bucket=b)["CORSRules"], cors)
    c.delete_bucket_cors(Bucket=b)
    rule = c.get_bucket_encryption(Bucket=b)["ServerSideEncryptionConfiguration"]["Rules"][0]
    equal(rule["ApplyServerSideEncryptionByDefault"], {"SSEAlgorithm": "AES256"})
    c.put_bucket_encryption(Bucket=b, ServerSideEncryptionConfiguration={"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}]})
    equal(c.get_bucket_encryption(Bucket=b)["ServerSideEncryptionConfiguration"]["Rules"][0]["ApplyServerSideEncryptionByDefault"], {"SSEAlgorithm": "aws:kms"})
    c.delete_bucket_encryption(Bucket=b)
    block = {"BlockPublicAcls": True, "IgnorePublicAcls": True, "BlockPublicPolicy": False, "RestrictPublicBuckets": False}
    fails("NoSuchPublicAccessBlockConfiguration", 404, c.get_public_access_block, Bucket=b)
    c.put_public_access_block(Bucket=b, PublicAccessBlockConfiguration=block)
    equal(c.get_public_access_block(Bucket=b)["PublicAccessBlockConfiguration"], block)
    c.delete_public_access_block(Bucket=b)
    c.put_bucket_ownership_controls(Bucket=b, OwnershipControls={"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]})
    equal(c.get_bucket_ownership_controls(Bucket=b)["OwnershipControls"]["Rules"], [{"ObjectOwnership": "BucketOwnerEnforced"}])
    c.delete_bucket_ownership_controls(Bucket=b)
    equal(c.get_bucket_acl(Bucket=b)["Grants"][0]["Permission"], "FULL_CONTROL")
    c.put_bucket_acl(Bucket=b, ACL="private")
    fails("AccessControlListNotSupported", 400, c.put_bucket_acl, Bucket=b, ACL="public-read")
    equal(c.get_bucket_request_payment(Bucket=b)["Payer"], "BucketOwner")
    check("LoggingEnabled" not in c.get_bucket_logging(Bucket=b), "no logging")
    check("Status" not in c.get_bucket_accelerate_configuration(Bucket=b), "no acceleration")
    c.get_bucket_notification_configuration(Bucket=b)
    fails("NoSuchWebsiteConfiguration", 404, c.get_bucket_website, Bucket=b)
    fails("ReplicationConfigurationNotFoundError", 404, c.get_bucket_replication, Bucket=b)
    fails("ObjectLockConfigurationNotFoundError", 404, c.get_object_lock_configuration, Bucket=b)


def test_whose_bucket_it_is():
    """One account owns everything, and nobody gets rights by ACLs: who asks for another thing is told, as S3 does it."""
    c = s3()
    b = bucket(c)
    c.put_object(Bucket=b, Key="k", Body=b"1", ExpectedBucketOwner="123456789012")
    equal(c.get_object(Bucket=b, Key="k", ExpectedBucketOwner="123456789012")["Body"].read(), b"1")
    for owner in ("111122223333", "someone", ""):
        for call, arguments in ((c.get_object, {"Key": "k"}), (c.put_object, {"Key": "k", "Body": b"2"}), (c.delete_object, {"Key": "k"}), (c.list_objects_v2, {}), (c.create_multipart_upload, {"Key": "k"}), (c.put_bucket_versioning, {"VersioningConfiguration": {"Status": "Enabled"}})):
            fails("AccessDenied", 403, call, Bucket=b, ExpectedBucketOwner=owner, **arguments)
        fails("403", 403, c.head_bucket, Bucket=b, ExpectedBucketOwner=owner)
        fails("AccessDenied", 403, c.copy_object, Bucket=b, Key="copy", CopySource={"Bucket": b, "Key": "k"}, ExpectedSourceBucketOwner=owner)
    c.copy_object(Bucket=b, Key="copy", CopySource={"Bucket": b, "Key": "k"}, ExpectedSourceBucketOwner="123456789012", ExpectedBucketOwner="123456789012")
    equal(sorted(entry["Key"] for entry in c.list_objects_v2(Bucket=b)["Contents"]), ["copy", "k"])
    for asked in ({"ACL": "public-read"}, {"ACL": "public-read-write"}, {"ACL": "authenticated-read"}, {"GrantRead": "id=x"}, {"GrantFullControl": "id=x"}):
        fails("InvalidBucketAclWithObjectOwnership", 400, c.create_bucket, Bucket=b + "-acl", **asked)
    fails("404", 404, c.head_bucket, Bucket=b + "-acl")
    c.create_bucket(Bucket=b + "-acl", ACL="private")


def test_what_is_not_offered_says_so():
    c = s3()
    b = bucket(c)
    c.put_object(Bucket=b, Key="k")
    fails("NotImplemented", 501, c.put_bucket_website, Bucket=b, WebsiteConfiguration={"IndexDocument": {"Suffix": "x"}})
    fails("NotImplemented", 501, c.put_bucket_logging, Bucket=b, BucketLoggingStatus={})
    fails("NotImplemented", 501, c.put_bucket_notification_configuration, Bucket=b, NotificationConfiguration={})
    fails("NotImplemented", 501, c.list_bucket_inventory_configurations, Bucket=b)
    fails("NotImplemented", 501, c.list_bucket_analytics_configurations, Bucket=b)
    fails("NotImplemented", 501, c.get_object_retention, Bucket=b, Key="k")
    fails("NotImplemented", 501, c.put_object_legal_hold, Bucket=b, Key="k", LegalHold={"Status": "ON"})
    fails("NotImplemented", 501, c.get_object_torrent, Bucket=b, Key="k")
    fails("NotImplemented", 501, c.restore_object, Bucket=b, Key="k", RestoreRequest={})
    fails("NotImplemented", 501, c.select_object_content, Bucket=b, Key="k", Expression="select 1", ExpressionType="SQL", InputSerialization={"CSV": {}}, OutputSerialization={"CSV": {}})
    fails("NotImplemented", 501, c.create_bucket, Bucket="with-lock", ObjectLockEnabledForBucket=True)


def test_checksums():
    c = s3()
    b = bucket(c)
    body = b"some bytes"
    values = {"CRC32": zlib.crc32(body).to_bytes(4, "big"), "SHA1": hashlib.sha1(body).digest(), "SHA256": hashlib.sha256(body).digest()}
    for name, value in values.items():
        c.put_object(Bucket=b, Key=name, Body=body, ChecksumAlgorithm=name)
        equal(c.head_object(Bucket=b, Key=name, ChecksumMode="ENABLED")["Checksum" + name], base64.b64encode(value).decode())
        fails("BadDigest", 400, c.put_object, Bucket=b, Key="bad", Body=body, **{"Checksum" + name: base64.b64encode(bytes(len(value))).decode()})
        fails("InvalidRequest", 400, c.put_object, Bucket=b, Key="bad", Body=body, **{"Checksum" + name: "AAA="})
    c.put_object(Bucket=b, Key="nvme", Body=b"123456789", ChecksumCRC64NVME="rosUhgp5mIg=")
    c.put_object(Bucket=b, Key="crc32c", Body=b"123456789", ChecksumCRC32C="4waSgw==")
    fails("BadDigest", 400, c.put_object, Bucket=b, Key="bad", Body=b"12345678", ChecksumCRC64NVME="rosUhgp5mIg=")
    fails("BadDigest", 400, c.put_object, Bucket=b, Key="bad", Body=body, ContentMD5=base64.b64encode(bytes(16)).decode())
    fails("InvalidDigest", 400, c.put_object, Bucket=b, Key="bad", Body=body, ContentMD5="x")
    fails("404", 404, c.head_object, Bucket=b, Key="bad")


def test_presigned_links():
    c = s3()
    b = bucket(c)
    link = c.generate_presigned_url("put_object", Params={"Bucket": b, "Key": "a b", "ContentType": "text/p"}, ExpiresIn=60)
    equal(call("PUT", link, b"linked", {"Content-Type": "text/p"})[0], 200)
    link = c.generate_presigned_url("get_object", Params={"Bucket": b, "Key": "a b", "ResponseContentType": "text/r"}, ExpiresIn=60)
    status, headers, body = call("GET", link)
    equal((status, headers["content-type"], body), (200, "text/r", b"linked"))
    status, _, body = call("GET", link.replace("a%20b", "ab"))
    check(status == 403 and b"SignatureDoesNotMatch" in body, body)
    short = c.generate_presigned_url("get_object", Params={"Bucket": b, "Key": "a b"}, ExpiresIn=1)
    time.sleep(2.1)
    status, _, body = call("GET", short)
    check(status == 403 and b"Request has expired" in body, body)
    status, _, body = call("GET", c.generate_presigned_url("get_object", Params={"Bucket": b, "Key": "a b"}, ExpiresIn=604801))
    check(status == 400 and b"AuthorizationQueryParametersError" in body, body)


def test_form_uploads():
    c = s3()
    b = bucket(c)
    post = c.generate_presigned_post(b, "up/${filename}", Fields={"Content-Type": "text/f", "success_action_status": "201"},
                                     Conditions=[{"Content-Type": "text/f"}, {"success_action_status": "201"}, ["content-length-range", 1, 100000], ["starts-with", "$key", "up/"]])

    def send(body, **changes):
        mark = "------boundary"
        fields = {**post["fields"], **changes}
        data = b"".join(f'--{mark}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n'.encode() for k, v in fields.items())
        data += f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="ü.bin"\r\nContent-Type: application/x\r\n\r\n'.encode() + body + f"\r\n--{mark}--\r\n".encode()
        return call("POST", post["url"], data, {"Content-Type": f"multipart/form-data; boundary={mark}"})

    body = b"\r\n--" + os.urandom(90000) + b"\r\n------boundar\r\n"
    status, _, text = send(body)
    equal(status, 201, text)
    got = c.get_object(Bucket=b, Key="up/ü.bin")
    check(got["Body"].read() == body, "the file's bytes")
    equal(got["ContentType"], "text/f")
    for changes, expected in (({"key": "other"}, b"AccessDenied"), ({"policy": post["fields"]["policy"][:-4] + "AAAA"}, b"SignatureDoesNotMatch"), ({"x-amz-signature": "0" * 64}, b"SignatureDoesNotMatch")):
        status, _, text = send(b"x", **changes)
        check(status == 403 and expected in text, f"{changes}: {status} {text}")
    check(b"EntityTooSmall" in send(b"")[2] and b"EntityTooLarge" in send(b"x" * 100001)[2], "size limits")


# ---- Requests made by hand.

def call(method, url, body=None, headers=None):
    """Status, headers (lower case) and body of the answer."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    target = parts.path + ("?" + parts.query if parts.query else "")
    connection.request(method, target, body, headers or {})
    answer = connection.getresponse()
    result = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    connection.close()
    return result


def sign(method, path, headers, payload_hash, when=None, key="nilas", secret="nilas", region="us-east-1", service="s3"):
    """The headers with x-amz-date and authorization, the signing key, the timestamp and the scope."""
    import hmac
    when = when or datetime.datetime.now(datetime.timezone.utc)
    stamp = when.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    headers = {**{k.lower(): v for k, v in headers.items()}, "host": LAKE.url("s3")[7:], "x-amz-date": stamp, "x-amz-content-sha256": payload_hash}
    names = ";".join(sorted(headers))
    canonical = "\n".join([method, path, "", *(f"{k}:{headers[k]}" for k in sorted(headers)), "", names, payload_hash])
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signing = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        signing = hmac.new(signing, part.encode(), "sha256").digest()
    signature = hmac.new(signing, text.encode(), "sha256").hexdigest()
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={key}/{scope},SignedHeaders={names},Signature={signature}"
    return headers, signing, stamp, scope, signature


def secret_key():
    import configparser
    file = configparser.ConfigParser()
    file.read(LAKE.environment["AWS_SHARED_CREDENTIALS_FILE"])
    section = file["nilas"]
    return section["aws_access_key_id"], section["aws_secret_access_key"]


def chunked(chunks, seed, signing, stamp, scope, trailer=None, break_chunk=None, break_trailer=False):
    """The aws-chunked form of these chunks, signed."""
    import hmac
    out, previous = b"", seed
    for i, chunk in enumerate(list(chunks) + [b""]):
        text = "\n".join(["AWS4-HMAC-SHA256-PAYLOAD", stamp, scope, previous, hashlib.sha256(b"").hexdigest(), hashlib.sha256(chunk).hexdigest()])
        previous = hmac.new(signing, text.encode(), "sha256").hexdigest()
        shown = previous if break_chunk != i else ("0" if previous[0] != "0" else "1") + previous[1:]
        out += f"{len(chunk):x};chunk-signature={shown}\r\n".encode() + (chunk + b"\r\n" if chunk else b"")
    if trailer:
        text = "\n".join(["AWS4-HMAC-SHA256-TRAILER", stamp, scope, previous, hashlib.sha256((trailer + "\n").encode()).hexdigest()])
        final = hmac.new(signing, text.encode(), "sha256").hexdigest()
        out += f"{trailer}\r\nx-amz-trailer-signature:{'0' * 64 if break_trailer else final}\r\n".encode()
    return out + b"\r\n"


def put_chunked(path, body, trailer=True, wrong_crc=False, announced=None, **breaks):
    key, secret = secret_key()
    kind = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" + ("-TRAILER" if trailer else "")
    headers = {"content-encoding": "aws-chunked,gzip", "x-amz-decoded-content-length": str(len(body) if announced is None else announced)}
    line = None
    if trailer:
        headers["x-amz-trailer"] = "x-amz-checksum-crc32"
        line = "x-amz-checksum-crc32:" + base64.b64encode((zlib.crc32(body) ^ wrong_crc).to_bytes(4, "big")).decode()
    signed, signing, stamp, scope, signature = sign("PUT", path, headers, kind, key=key, secret=secret)
    chunks = [body[i:i + 131072] for i in range(0, len(body), 131072)]
    return call("PUT", LAKE.url("s3") + path, chunked(chunks, signature, signing, stamp, scope, line, **breaks), signed)


def test_signed_chunks():
    c = s3()
    b = bucket(c)
    body = os.urandom(300000)
    for trailer in (True, False):
        status, headers, text = put_chunked(f"/{b}/k", body, trailer)
        equal(status, 200, text)
        got = c.get_object(Bucket=b, Key="k")
        check(got["Body"].read() == body, "unframed")
        equal(got["ContentEncoding"], "gzip")
    for expected, options in (("SignatureDoesNotMatch", {"break_chunk": 0}), ("SignatureDoesNotMatch", {"break_chunk": 2}), ("SignatureDoesNotMatch", {"break_chunk": 3}), ("SignatureDoesNotMatch", {"break_trailer": True}),
                              ("BadDigest", {"wrong_crc": True}), ("IncompleteBody", {"announced": 299999}), ("IncompleteBody", {"announced": 300001})):
        status, _, text = put_chunked(f"/{b}/bad", body, **options)
        check(status in (400, 403) and expected.encode() in text, f"{options}: {status} {text}")
    fails("404", 404, c.head_object, Bucket=b, Key="bad")


def put_unsigned_chunks(path, framed, trailer="x-amz-checksum-crc32", **more):
    headers = {"Content-Encoding": "aws-chunked", "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", **({"x-amz-trailer": trailer} if trailer else {}), **more}
    return call("PUT", LAKE.url("s3") + path, framed, headers)


def test_unsigned_chunks():
    c = s3()
    b = bucket(c)
    crc = base64.b64encode(zlib.crc32(b"hello world").to_bytes(4, "big"))
    good = b"6\r\nhello \r\n5\r\nworld\r\n0\r\nx-amz-checksum-crc32:" + crc + b"\r\n\r\n"
    equal(put_unsigned_chunks(f"/{b}/k", good)[0], 200)
    equal(c.get_object(Bucket=b, Key="k", ChecksumMode="ENABLED")["Body"].read(), b"hello world")
    equal(put_unsigned_chunks(f"/{b}/k", iter([good[:3], good[3:20], good[20:]]))[0], 200, "HTTP chunks as well, as PyArrow sends them")
    equal(put_unsigned_chunks(f"/{b}/k2", b"5\r\nhello\r\n0\r\n\r\n", trailer=None)[0], 200, "without a trailer")
    for framed, expected in ((good.replace(b"world", b"World"), b"BadDigest"), (b"5\r\nhell", b"IncompleteBody"), (b"5\r\nhello\r\n", b"IncompleteBody"), (b"zz\r\nhello", b"InvalidRequest"),
                             (b"5\r\nhelloworld", b"InvalidRequest"), (b"ffffffffffffffff\r\nx", b"InvalidRequest"), (b"5" * 5000, b"InvalidRequest"), (good + b"more", b"InvalidRequest"),
                             (b"5\r\nhello\r\n0\r\n\r\n", b"MalformedTrailerError"), (b"0\r\n" + b"a:b\r\n" * 20 + b"\r\n", b"InvalidRequest"), (b"", b"IncompleteBody")):
        status, _, text = put_unsigned_chunks(f"/{b}/bad", framed)
        check(status == 400 and expected in text, f"{framed[:40]}: {status} {text}")
    fails("404", 404, c.head_object, Bucket=b, Key="bad")


def test_signatures():
    b = bucket(s3())
    key, secret = secret_key()
    path = f"/{b}/k"
    body = b"body"
    right = hashlib.sha256(body).hexdigest()

    def put(expected, sent=body, payload=right, **options):
        headers = sign("PUT", path, {}, payload, **{"key": key, "secret": secret, **options})[0]
        status, _, text = call("PUT", LAKE.url("s3") + path, sent, headers)
        check((status == 200 if expected is None else expected.encode() in text), f"{expected}: {status} {text}")

    now = datetime.datetime.now(datetime.timezone.utc)
    put(None)
    put(None, payload="UNSIGNED-PAYLOAD")
    put(None, region="eu-central-1")
    put("SignatureDoesNotMatch", secret=secret + "x")
    put("XAmzContentSHA256Mismatch", sent=b"Body")
    put("RequestTimeTooSkewed", when=now - datetime.timedelta(minutes=16))
    put("RequestTimeTooSkewed", when=now + datetime.timedelta(minutes=16))
    put(None, when=now - datetime.timedelta(minutes=14))
    put("AuthorizationHeaderMalformed", service="s3tables")
    put("InvalidArgument", payload="nonsense")
    put(None, key="unknown", secret="whatever")
    signed = sign("PUT", path, {}, right, key=key, secret=secret)[0]
    for change in ({"x-amz-date": "20200101T000000Z"}, {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}, {"x-amz-acl": "private"}, {"authorization": signed["authorization"][:-1] + "g"}):
        status, _, text = call("PUT", LAKE.url("s3") + path, body, {**signed, **change})
        check(status in (400, 403), f"{change}: {status} {text}")
    for authorization in ("AWS key:signature", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=x", "AWS4-ECDSA-P256-SHA256 Credential=a/b", "Bearer x", "x" * 5000):
        status, _, text = call("PUT", LAKE.url("s3") + path, body, {**signed, "authorization": authorization})
        check(status in (400, 403), f"{authorization[:40]}: {status} {text}")
    put(None)


def test_strict_mode():
    with Lakehouse("--strict", names=["s3"]) as lake:
        strict = lake.client("s3", config=CONFIG)
        strict.create_bucket(Bucket="strict")
        url = lake.url("s3")
        status, _, text = call("GET", url + "/strict")
        check(status == 403 and b"AccessDenied" in text, text)
        status, _, text = call("PUT", url + "/strict/k", b"x")
        check(status == 403 and b"AccessDenied" in text, text)
        import boto3
        other = boto3.client("s3", endpoint_url=url, aws_access_key_id="other", aws_secret_access_key="x", region_name="us-east-1", config=CONFIG)
        fails("InvalidAccessKeyId", 403, other.list_buckets)
        status, _, text = call("POST", url + "/strict", b'--b\r\nContent-Disposition: form-data; name="key"\r\n\r\nk\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n--b--\r\n',
                               {"Content-Type": "multipart/form-data; boundary=b"})
        check(status == 403 and b"AccessDenied" in text, text)
        equal(strict.list_objects_v2(Bucket="strict")["KeyCount"], 0)


def test_virtual_hosts():
    c = s3()
    b = bucket(c)
    c.put_object(Bucket=b, Key="k/1", Body=b"x")
    port = LAKE.ports["s3"]
    for host in (f"{b}.localhost:{port}", f"{b}.s3.localhost:{port}"):
        equal(call("GET", f"http://127.0.0.1:{port}/k/1", headers={"Host": host})[2], b"x", host)
        check(b"<Key>k/1</Key>" in call("GET", f"http://127.0.0.1:{port}/?list-type=2", headers={"Host": host})[2], host)
    equal(call("GET", f"http://127.0.0.1:{port}/k/1", headers={"Host": "evil.example"})[0], 421)
    resolve = socket.getaddrinfo # not every machine knows names below localhost
    socket.getaddrinfo = lambda name, *more, **options: resolve("127.0.0.1" if str(name).endswith(".localhost") else name, *more, **options)
    virtual = LAKE.client("s3", config=botocore.config.Config(s3={"addressing_style": "virtual"}))
    equal(virtual.get_object(Bucket=b, Key="k/1")["Body"].read(), b"x")
    socket.getaddrinfo = resolve


def raw(data):
    """The answer's first bytes to what is no good request."""
    with socket.create_connection(("127.0.0.1", LAKE.ports["s3"]), timeout=20) as connection:
        connection.sendall(data)
        try:
            return connection.recv(65536)
        except ConnectionResetError:
            return b""


def test_hostile_requests():
    c = s3()
    b = bucket(c)
    url = LAKE.url("s3")
    for path in (f"/{b}/%zz", f"/{b}/%", f"/{b}/%ff%fe", f"/{b}/a%00b"):
        status, _, text = call("PUT", url + path, b"x")
        check(status == 400 and b"InvalidURI" in text, f"{path}: {status} {text}")
    for path in (f"/{b}/../../etc/passwd", "/../../etc/passwd", f"/{b}/%2e%2e/%2e%2e/x"):
        equal(call("GET", url + path)[0] in (400, 403, 404), True, path)
    for body in (b"<", b"<Delete>", b"", b"<!DOCTYPE x [<!ENTITY a 'b'>]><Delete><Object><Key>&a;</Key></Object></Delete>", b"<a>" * 1000, b"<Other/>", b"\xff\xfe", b"<Delete><Object/></Delete>"):
        status, _, text = call("POST", f"{url}/{b}?delete", body)
        check(status == 400 and b"MalformedXML" in text, f"{body[:30]}: {status} {text}")
    status, _, text = call("POST", f"{url}/{b}?delete", b"x" * (17 << 20))
    check(status in (400, 413), f"{status} {text[:200]}")
    status, _, text = call("PUT", f"{url}/{b}/k", headers={"x-amz-copy-source": "nonsense"})
    check(status == 400, f"{status} {text}")
    status, _, text = call("PATCH", f"{url}/{b}/k", b"x")
    check(status == 405, f"{status} {text}")
    status, _, text = call("PUT", f"{url}/{b}/k", b"x", {"x-amz-meta-a": "b\tc", "Origin": "http://evil.example"})
    equal(status, 403)
    check(raw(b"PUT /" + b.encode() + b"/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello").split(b" ")[1:2] == [b"400"], "two lengths")
    check(raw(b"PUT /" + b.encode() + b"/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").split(b" ")[1:2] == [b"400"], "length and chunks")
    check(b" 4" in raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 5000 + b"\r\n")[:20] + b" 4", "many headers")
    answer = raw(b"PUT /" + b.encode() + b"/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
    check(answer.startswith(b"HTTP/1.1 100"), answer)
    fails("404", 404, c.head_object, Bucket=b, Key="k")
    answer = raw(b"PUT /no-such-bucket-here/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
    check(answer.startswith(b"HTTP/1.1 404"), answer)
    equal(c.list_objects_v2(Bucket=b)["KeyCount"], 0)


def test_names_in_listings_are_text():
    """A prefix that is no text would make the answer no XML."""
    c = s3()
    b = bucket(c)
    for name in ("prefix", "delimiter", "marker", "start-after", "key-marker"):
        for word in ("%ff", "%00", "a%00b", "%ed%a0%80", "%c0%af"):
            for form in ("list-type=2", "versions", "uploads", ""):
                status, _, text = call("GET", f"{LAKE.url('s3')}/{b}?{form}&{name}={word}")
                check(status == 400 and b"InvalidArgument" in text, f"{form} {name}={word}: {status} {text}")


def test_files_of_objects_that_were_changed():
    """What somebody did to the data folder is told at once, and never sent as if it were the object."""
    c = s3()
    b = bucket(c)
    body = os.urandom(300000)
    folder = LAKE.folder + "/data/objects"

    def put():
        before = {os.path.join(place, name) for place, _, names in os.walk(folder) for name in names}
        c.put_object(Bucket=b, Key="k", Body=body)
        return next(os.path.join(place, name) for place, _, names in os.walk(folder) for name in names if os.path.join(place, name) not in before)

    for what, change in (("gone", os.remove), ("empty", lambda path: open(path, "wb").close()), ("short", lambda path: os.truncate(path, 200000)),
                         ("a link", lambda path: (os.rename(path, path + ".away"), os.symlink("/etc/passwd", path))), ("a folder", lambda path: (os.remove(path), os.mkdir(path)))):
        change(put())
        for headers in ({}, {"Range": "bytes=250000-"}, {"Range": "bytes=-1"}):
            begun = time.time()
            status, _, text = call("GET", f"{LAKE.url('s3')}/{b}/k", headers=headers)
            check(status == 500 and b"InternalError" in text, f"{what}: {headers}: {status} {text[:200]}")
            check(time.time() - begun < 5, f"{what}: after {time.time() - begun:.1f} s")
        equal(call("HEAD", f"{LAKE.url('s3')}/{b}/k")[0], 200)
        c.delete_object(Bucket=b, Key="k")
    c.put_object(Bucket=b, Key="k", Body=body)
    equal(c.get_object(Bucket=b, Key="k")["Body"].read(), body)


def test_a_restart_loses_nothing():
    global LAKE
    c = s3()
    b = bucket(c)
    bodies = {f"k{i}": os.urandom(i * 9000) for i in range(20)}
    for key, body in bodies.items():
        c.put_object(Bucket=b, Key=key, Body=body, Metadata={"i": key})
    made = c.create_multipart_upload(Bucket=b, Key="part")
    tag = c.upload_part(Bucket=b, Key="part", UploadId=made["UploadId"], PartNumber=1, Body=bytes(100000))["ETag"]
    LAKE.stop()
    LAKE.start()
    c = s3()
    for key, body in bodies.items():
        got = c.get_object(Bucket=b, Key=key)
        check(got["Body"].read() == body and got["Metadata"] == {"i": key}, key)
    c.complete_multipart_upload(Bucket=b, Key="part", UploadId=made["UploadId"], MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": tag}]})
    equal(c.head_object(Bucket=b, Key="part")["ContentLength"], 100000)


if __name__ == "__main__":
    with Lakehouse(names=["s3"]) as LAKE:
        support.run_tests(sys.modules[__name__])
