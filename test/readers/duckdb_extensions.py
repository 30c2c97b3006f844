"""DuckDB with the extensions of the readers, which are packages: nothing is downloaded."""
import glob
import importlib.util
import os


def extension(name):
    root = os.path.dirname(importlib.util.find_spec(f"duckdb_extension_{name}").origin)
    return glob.glob(f"{root}/**/*.duckdb_extension", recursive=True)[0]


def connect(endpoint, key, secret):
    """A connection that reads tables of Iceberg, with keys of its own for the bucket."""
    import duckdb

    db = duckdb.connect()
    for name in ("avro", "httpfs", "iceberg"):
        db.execute(f"LOAD '{extension(name)}'")
    db.execute(
        "CREATE SECRET (TYPE s3, KEY_ID ?, SECRET ?, ENDPOINT ?, USE_SSL false, URL_STYLE 'path')",
        [key, secret, endpoint.removeprefix("http://")],
    )
    return db
