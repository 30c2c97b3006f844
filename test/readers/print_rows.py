"""Runs lines of docs/reading-exports.md and prints the rows that they read, one JSON object a line.

Usage: print_rows.py LANGUAGE, the lines on standard input. `python` leaves its rows in `runs`; `clickhouse` is SQL;
`pyspark` is Python that finds `spark`, and is run with Spark's vectorised reader and with that of parquet-java, which
answers rows: both must read the same.
Values have one form whatever the reader: times in ISO 8601 with microseconds, decimals with ten digits, numbers as text.
"""

import datetime
import decimal
import json
import math
import os
import sys
import time


def plain(value):
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bool) or isinstance(value, str):
        return value
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(value, decimal.Decimal):
        return f"{value:.10f}"
    if isinstance(value, float):
        return None if math.isnan(value) else repr(value)
    if isinstance(value, int):
        return str(value)
    raise TypeError(f"a value is {type(value).__name__}: {value!r:.80}")


def rows_of(runs):
    kind = type(runs).__module__.split(".")[0]
    if kind == "pandas":
        return runs.to_dict("records")
    if kind == "pyarrow":
        return runs.to_pylist()
    if kind == "polars":
        return runs.to_dicts()
    raise TypeError(f"runs is {type(runs).__name__}")


def run_python(lines, scope):
    exec(lines, scope)
    return scope["runs"]


def run_spark(lines):
    from pyspark.sql import SparkSession

    # its rows have times without a zone, which are those of the process
    os.environ["TZ"] = "UTC"
    time.tzset()
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    read = []
    for is_vectorised in ("true", "false"):
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", is_vectorised)
        spark.conf.set("spark.sql.parquet.enableNestedColumnVectorizedReader", is_vectorised)
        runs = run_python(lines, {"spark": spark})
        read.append([{name: plain(value) for name, value in row.asDict().items()} for row in runs.collect()])
    spark.stop()

    def key(row):
        return (row["id"], row["trace_id"])

    if sorted(read[0], key=key) != sorted(read[1], key=key):
        raise ValueError("the vectorised reader and that of parquet-java read other rows")
    return read[0]


language, lines = sys.argv[1], sys.stdin.read()
if language == "pyspark":
    rows = run_spark(lines)
elif language == "clickhouse":
    import chdb

    rows = rows_of(chdb.query(lines, "ArrowTable"))
else:
    rows = rows_of(run_python(lines, {}))
for row in rows:
    print(json.dumps({name: plain(value) for name, value in row.items()}))
