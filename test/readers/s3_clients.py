"""Walks the object store with the clients that people bring: ENDPOINT KEY SECRET BUCKET FOLDER.

Each step prints one line; any difference ends the program with an error.
"""
import os
import subprocess
import sys

import boto3
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import s3fs
from botocore.config import Config
from botocore.exceptions import ClientError

endpoint, key, secret, bucket, folder = sys.argv[1:]
MIB = 1 << 20
LARGE = os.urandom(12 * MIB + 5)


def client(**config):
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        region_name="us-east-1",
        config=Config(s3={"addressing_style": "path"}, **config),
    )


def refused(code, call):
    try:
        call()
    except ClientError as error:
        assert error.response["Error"]["Code"] == code, error
        return
    raise AssertionError(f"expected {code}")


def with_boto3():
    s3 = client()
    for name in ("CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"):
        answer = s3.put_object(Bucket=bucket, Key=f"sum/{name}", Body=LARGE[:MIB], ChecksumAlgorithm=name)
        field = f"Checksum{name}"
        told = s3.get_object_attributes(
            Bucket=bucket, Key=f"sum/{name}", ObjectAttributes=["Checksum", "ETag", "ObjectSize"]
        )
        assert told["ObjectSize"] == MIB and told["ETag"] == answer["ETag"].strip('"'), told
        assert told["Checksum"][field] == answer[field], (told, answer)
        read = s3.get_object(Bucket=bucket, Key=f"sum/{name}", ChecksumMode="ENABLED")
        assert read["Body"].read() == LARGE[:MIB]
    refused("BadDigest", lambda: s3.put_object(Bucket=bucket, Key="bad", Body=b"x", ChecksumCRC32="AAAAAA=="))
    refused("404", lambda: s3.head_object(Bucket=bucket, Key="bad"))

    s3.put_object(Bucket=bucket, Key="a b/ü", Body=LARGE, Metadata={"who": "me"}, ContentType="text/plain")
    source = {"Bucket": bucket, "Key": "a b/ü"}
    s3.copy_object(Bucket=bucket, Key="copied", CopySource=source)
    copied = s3.get_object(Bucket=bucket, Key="copied")
    assert copied["Body"].read() == LARGE and copied["Metadata"] == {"who": "me"}
    assert copied["ContentType"] == "text/plain"
    s3.copy_object(
        Bucket=bucket, Key="copied", CopySource=source, MetadataDirective="REPLACE", Metadata={"who": "you"}
    )
    assert s3.head_object(Bucket=bucket, Key="copied")["Metadata"] == {"who": "you"}
    refused("PreconditionFailed", lambda: s3.copy_object(
        Bucket=bucket, Key="no", CopySource=source, CopySourceIfMatch="other"))
    refused("NoSuchKey", lambda: s3.copy_object(
        Bucket=bucket, Key="no", CopySource={"Bucket": bucket, "Key": "absent"}))
    refused("InvalidRequest", lambda: s3.copy_object(Bucket=bucket, Key="a b/ü", CopySource=source))

    upload = s3.create_multipart_upload(Bucket=bucket, Key="parts")["UploadId"]
    parts = []
    for number, span in enumerate((f"bytes=0-{6 * MIB - 1}", f"bytes={6 * MIB}-{len(LARGE) - 1}"), 1):
        part = s3.upload_part_copy(
            Bucket=bucket, Key="parts", UploadId=upload, PartNumber=number, CopySource=source, CopySourceRange=span
        )
        parts.append({"PartNumber": number, "ETag": part["CopyPartResult"]["ETag"]})
    s3.complete_multipart_upload(Bucket=bucket, Key="parts", UploadId=upload, MultipartUpload={"Parts": parts})
    assert s3.get_object(Bucket=bucket, Key="parts")["Body"].read() == LARGE
    told = s3.get_object_attributes(Bucket=bucket, Key="parts", ObjectAttributes=["ObjectParts", "StorageClass"])
    assert told["ObjectParts"]["TotalPartsCount"] == 2 and told["StorageClass"] == "STANDARD", told

    # the transfer manager chooses copies in parts above its threshold
    transfer = boto3.s3.transfer.TransferConfig(multipart_threshold=8 * MIB, multipart_chunksize=6 * MIB)
    s3.copy(source, bucket, "managed", Config=transfer)
    assert s3.get_object(Bucket=bucket, Key="managed")["Body"].read() == LARGE
    print("boto3")


def with_pyarrow():
    fs = pafs.S3FileSystem(
        access_key=key, secret_key=secret, endpoint_override=endpoint, scheme="http", region="us-east-1"
    )
    table = pa.table({"n": list(range(1000)), "text": [f"row {n}" for n in range(1000)]})
    pq.write_table(table, f"{bucket}/arrow/small.parquet", filesystem=fs)
    assert pq.read_table(f"{bucket}/arrow/small.parquet", filesystem=fs).equals(table)
    with fs.open_output_stream(f"{bucket}/arrow/large") as out:
        out.write(LARGE)
    with fs.open_input_file(f"{bucket}/arrow/large") as file:
        assert file.read() == LARGE
    fs.copy_file(f"{bucket}/arrow/large", f"{bucket}/arrow/copy")
    fs.move(f"{bucket}/arrow/copy", f"{bucket}/arrow/moved")
    names = [found.base_name for found in fs.get_file_info(pafs.FileSelector(f"{bucket}/arrow"))]
    assert sorted(names) == ["large", "moved", "small.parquet"], names
    fs.delete_dir(f"{bucket}/arrow")
    print("pyarrow")


def with_s3fs():
    fs = s3fs.S3FileSystem(key=key, secret=secret, client_kwargs={"endpoint_url": endpoint})
    with fs.open(f"{bucket}/fs/file", "wb") as out:
        out.write(LARGE)
    fs.copy(f"{bucket}/fs/file", f"{bucket}/fs/copy")
    assert fs.cat(f"{bucket}/fs/copy") == LARGE
    fs.rm(f"{bucket}/fs", recursive=True)
    print("s3fs")


def run(command, **more):
    env = {
        **{name: value for name, value in os.environ.items() if name != "AWS_CA_BUNDLE"},
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        **more,
    }
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def with_aws():
    aws = [sys.executable, "-m", "awscli"]
    path = os.path.join(folder, "large")
    with open(path, "wb") as out:
        out.write(LARGE)
    run([*aws, "s3", "cp", path, f"s3://{bucket}/cli/large"])
    run([*aws, "s3", "cp", f"s3://{bucket}/cli/large", f"s3://{bucket}/cli/copy"])
    run([*aws, "s3", "mv", f"s3://{bucket}/cli/copy", f"s3://{bucket}/cli/moved"])
    run([*aws, "s3", "sync", f"s3://{bucket}/cli", os.path.join(folder, "synced")])
    with open(os.path.join(folder, "synced", "moved"), "rb") as file:
        assert file.read() == LARGE
    run([*aws, "s3", "rm", "--recursive", f"s3://{bucket}/cli"])
    assert run([*aws, "s3", "ls", f"s3://{bucket}/"]).count("PRE cli/") == 0
    print("aws")


def with_rclone():
    remote = {
        "RCLONE_CONFIG_R_TYPE": "s3",
        "RCLONE_CONFIG_R_PROVIDER": "Other",
        "RCLONE_CONFIG_R_ENV_AUTH": "true",
        "RCLONE_CONFIG_R_ENDPOINT": endpoint,
        "RCLONE_CONFIG": os.path.join(folder, "rclone.conf"),
    }
    path = os.path.join(folder, "tree")
    os.makedirs(path)
    for name, data in (("one", LARGE), ("two ü", b"2"), ("empty", b"")):
        with open(os.path.join(path, name), "wb") as out:
            out.write(data)
    chunks = ["--s3-upload-cutoff", "6M", "--s3-chunk-size", "6M", "--s3-copy-cutoff", "6M"]
    run(["rclone", "copy", *chunks, path, f"r:{bucket}/tree"], **remote)
    run(["rclone", "check", path, f"r:{bucket}/tree"], **remote)
    run(["rclone", "copy", *chunks, f"r:{bucket}/tree", f"r:{bucket}/tree2"], **remote)
    run(["rclone", "check", "--download", path, f"r:{bucket}/tree2"], **remote)
    run(["rclone", "purge", f"r:{bucket}/tree"], **remote)
    print("rclone")


with_boto3()
with_pyarrow()
with_s3fs()
with_aws()
if subprocess.run(["which", "rclone"], capture_output=True).returncode == 0:
    with_rclone()
