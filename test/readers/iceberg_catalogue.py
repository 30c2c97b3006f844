"""Reads a table through the catalogue: REST_URL KEY WAREHOUSE_STORE ACCESS SECRET NAMESPACE TABLE QUESTIONS.

QUESTIONS is JSON: a statement over the view t for each name, which answers one value. Prints a line of JSON for each
reader: its name and the answers to the questions.
"""
import json
import sys

from duckdb_extensions import connect

rest, key, endpoint, access, secret, namespace, table, questions = sys.argv[1:]
QUESTIONS = json.loads(questions)


def with_duckdb():
    """With keys of its own for the bucket."""
    db = connect(endpoint, access, secret)
    db.execute("SET TimeZone = 'UTC'")
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
    db.execute("SET TimeZone = 'UTC'")
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
