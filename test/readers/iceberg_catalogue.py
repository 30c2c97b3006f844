"""Reads a table through the catalogue: REST_URL KEY STORE ACCESS SECRET BUCKET NAMESPACE TABLE QUESTIONS.

QUESTIONS is JSON: a statement over the view t for each name, which answers one value. Prints a line of JSON for each
reader: its name and the answers to the questions.
"""
import json
import re
import sys
from urllib.parse import quote

from duckdb_extensions import connect

rest, key, endpoint, access, secret, bucket, namespace, table, questions = sys.argv[1:]
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


def with_spark():
    """With no key of the bucket, by packages of Maven."""
    import os

    from pyspark.sql import SparkSession

    os.environ["TZ"] = "UTC"
    packages = ("iceberg-spark-runtime-4.1_2.13:1.12.0", "iceberg-aws-bundle:1.12.0")
    settings = {
        "spark.jars.packages": ",".join(f"org.apache.iceberg:{name}" for name in packages),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "rest",
        "spark.sql.catalog.lake.uri": f"{rest}/iceberg",
        "spark.sql.catalog.lake.token": key,
        "spark.sql.catalog.lake.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
    }
    spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    spark.table(f"lake.`{namespace}`.{table}").createTempView("t")
    answers = {name: spark.sql(in_spark(sql)).first()[0] for name, sql in QUESTIONS.items()}
    spark.stop()
    return answers


def in_spark(sql):
    """A question in the words of Spark."""
    for pattern, words in (
        (r"string_agg\(DISTINCT (\w+), ',' ORDER BY \w+\)", r"array_join(sort_array(collect_set(\1)), ',')"),
        (r"string_agg\((.+), ',' ORDER BY (\w+)\)", r"listagg(\1, ',') WITHIN GROUP (ORDER BY \2)"),
        (r"list_contains", "array_contains"),
        (r"json_extract_string", "get_json_object"),
        (r"strftime\((.+), '.*'\)", r"""date_format(\1, "yyyy-MM-dd'T'HH:mm:ss")"""),
        (r"TIMESTAMPTZ '(.+)\+00'", r"TIMESTAMP '\1Z'"),
    ):
        sql = re.sub(pattern, words, sql)
    return sql


def with_clickhouse():
    """With keys of its own for the bucket, whose address it does not take from the catalogue."""
    from chdb import session

    db = session.Session()
    db.query("SET allow_database_iceberg = 1")
    settings = f"catalog_type = 'rest', warehouse = 'lake', auth_header = 'Authorization: Bearer {key}'"
    settings += f", storage_endpoint = '{endpoint}/{bucket}', vended_credentials = false"
    db.query(f"CREATE DATABASE lake ENGINE = DataLakeCatalog('{rest}/iceberg', '{access}', '{secret}') SETTINGS {settings}")
    # it does not encode names in its requests
    db.query(f"CREATE VIEW t AS SELECT * FROM lake.`{quote(namespace)}.{table}`")
    answers = {}
    for name, sql in QUESTIONS.items():
        rows = json.loads(str(db.query(in_clickhouse(sql), "JSONCompact")))["data"]
        answers[name] = rows[0][0]
    return answers


def in_clickhouse(sql):
    """A question in the words of ClickHouse. Numbers of 64 bits are text in its JSON."""
    for pattern, words in (
        (r"string_agg\(DISTINCT (\w+), ',' ORDER BY \w+\)", r"arrayStringConcat(arraySort(groupUniqArray(\1)), ',')"),
        (
            r"string_agg\((.+), ',' ORDER BY (\w+)\)",
            r"arrayStringConcat(arrayMap(one -> one.2, arraySort(groupArrayIf((\2, assumeNotNull(\1)), isNotNull(\1)))), ',')",
        ),
        (r"list_contains", "has"),
        (r"json_extract_string\((\w+), '\$\.(\w+)'\)", r"JSONExtractRaw(assumeNotNull(\1), '\2')"),
        (r"strftime\((.+), '.*'\)", r"formatDateTime(\1, '%Y-%m-%dT%H:%i:%S', 'UTC')"),
        (r"TIMESTAMPTZ '(.+)T(.+)\+00'", r"toDateTime64('\1 \2', 6, 'UTC')"),
        (r"::BIGINT", ""),
    ):
        sql = re.sub(pattern, words, sql)
    return f"{sql} SETTINGS output_format_json_quote_64bit_integers = 0"


readers = {
    "duckdb": with_duckdb,
    "clickhouse": with_clickhouse,
    "spark": with_spark,
    "pyiceberg with a token": lambda: with_pyiceberg({"token": key}),
    "pyiceberg with a secret": lambda: with_pyiceberg(
        {"credential": f"any:{key}", "oauth2-server-uri": f"{rest}/iceberg/v1/oauth/tokens"}
    ),
}
for name, read in readers.items():
    print(json.dumps({"reader": name, **read()}), flush=True)
