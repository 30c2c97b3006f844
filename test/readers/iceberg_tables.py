"""Reads an Iceberg table by its metadata: ENDPOINT KEY SECRET FOLDER, the folder as s3://BUCKET/….

Prints a line of JSON for each reader: its name and the answers to the same questions.
"""
import json
import sys

from duckdb_extensions import connect

endpoint, key, secret, folder = sys.argv[1:]
QUESTIONS = {
    "rows": "SELECT count(*) FROM t",
    "hour": "SELECT count(*) FROM t WHERE start_time >= TIMESTAMPTZ '2026-11-20 01:00:00+00' AND start_time < TIMESTAMPTZ '2026-11-20 02:00:00+00'",
    "tokens": "SELECT sum(total_tokens)::BIGINT FROM t",
    "tags": "SELECT count(*) FROM t WHERE tags::VARCHAR LIKE '%a%'",
    "inputs": "SELECT string_agg(inputs, ',' ORDER BY start_time, id) FROM t",
    "cost": "SELECT sum(total_cost)::VARCHAR FROM t",
}


def with_duckdb():
    db = connect(endpoint, key, secret)
    db.execute("SET TimeZone = 'UTC'")
    db.execute("SET unsafe_enable_version_guessing = false")
    db.execute(f"CREATE VIEW t AS SELECT * FROM iceberg_scan('{folder}', version_name_format = 'v%s%s.metadata.json')")
    return {name: db.execute(sql).fetchone()[0] for name, sql in QUESTIONS.items()}


def with_pyiceberg():
    import duckdb
    from pyiceberg.table import StaticTable

    properties = {
        "s3.endpoint": endpoint,
        "s3.access-key-id": key,
        "s3.secret-access-key": secret,
        "s3.region": "us-east-1",
        "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO",
    }
    import pyarrow.fs

    bucket, _, path = folder.removeprefix("s3://").partition("/")
    files = pyarrow.fs.S3FileSystem(access_key=key, secret_key=secret, endpoint_override=endpoint, region="us-east-1")
    version = files.open_input_file(f"{bucket}/{path}/metadata/version-hint.text").read().decode()
    table = StaticTable.from_metadata(f"{folder}/metadata/v{version}.metadata.json", properties)
    hour = table.scan(
        row_filter="start_time >= '2026-11-20T01:00:00+00:00' and start_time < '2026-11-20T02:00:00+00:00'"
    )
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    db.register("t", table.scan().to_arrow())
    answers = {name: db.execute(sql).fetchone()[0] for name, sql in QUESTIONS.items()}
    assert answers["hour"] == hour.to_arrow().num_rows
    assert len(list(hour.plan_files())) < len(list(table.scan().plan_files())), "the bounds prune no file"
    return answers


for name, read in (("duckdb", with_duckdb), ("pyiceberg", with_pyiceberg)):
    print(json.dumps({"reader": name, **read()}))
