"""Reads a table through the catalogue: REST_URL KEY WAREHOUSE_STORE ACCESS SECRET NAMESPACE TABLE.

Prints a line of JSON for each reader: its name and the answers to the same questions.
"""
import glob
import importlib.util
import json
import os
import sys

rest, key, endpoint, access, secret, namespace, table = sys.argv[1:]
QUESTIONS = {
    "rows": "SELECT count(*) FROM t",
    "tokens": "SELECT sum(total_tokens)::BIGINT FROM t",
    "names": "SELECT string_agg(DISTINCT name, ',' ORDER BY name) FROM t",
}


def extension(name):
    root = os.path.dirname(importlib.util.find_spec(f"duckdb_extension_{name}").origin)
    return glob.glob(f"{root}/**/*.duckdb_extension", recursive=True)[0]


def with_duckdb():
    """With keys of its own for the bucket."""
    import duckdb

    db = duckdb.connect()
    for name in ("avro", "httpfs", "iceberg"):
        db.execute(f"LOAD '{extension(name)}'")
    db.execute(
        "CREATE SECRET (TYPE s3, KEY_ID ?, SECRET ?, ENDPOINT ?, USE_SSL false, URL_STYLE 'path')",
        [access, secret, endpoint.removeprefix("http://")],
    )
    db.execute(
        f"ATTACH 'lake' AS lake (TYPE iceberg, ENDPOINT '{rest}/iceberg', TOKEN '{key}', ACCESS_DELEGATION_MODE 'none')"
    )
    db.execute(f'CREATE TEMP VIEW t AS SELECT * FROM lake."{namespace}"."{table}"')
    return {name: db.execute(sql).fetchone()[0] for name, sql in QUESTIONS.items()}


def with_pyiceberg(credentials):
    """With no key of the bucket: the catalogue signs what is read."""
    import duckdb
    from pyiceberg.catalog import load_catalog

    catalogue = load_catalog(
        "lake",
        **{
            "type": "rest",
            "uri": f"{rest}/iceberg",
            "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO",
            **credentials,
        },
    )
    assert catalogue.list_namespaces() == [(namespace,)], catalogue.list_namespaces()
    assert catalogue.list_tables(namespace) == [(namespace, table)]
    found = catalogue.load_table((namespace, table))
    db = duckdb.connect()
    db.register("t", found.scan().to_arrow())
    return {name: db.execute(sql).fetchone()[0] for name, sql in QUESTIONS.items()}


readers = {
    "duckdb": with_duckdb,
    "pyiceberg with a token": lambda: with_pyiceberg({"token": key}),
    "pyiceberg with a secret": lambda: with_pyiceberg(
        {"credential": f"any:{key}", "oauth2-server-uri": f"{rest}/iceberg/v1/oauth/tokens"}
    ),
}
for name, read in readers.items():
    print(json.dumps({"reader": name, **read()}), flush=True)
