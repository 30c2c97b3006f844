"""Runs lines of docs/reading-exports.md and prints the rows that they read, one JSON object a line.

Usage: print_rows.py LANGUAGE, the lines on standard input. `python` leaves its rows in `runs`; `clickhouse` is SQL.
Values have one form whatever the reader: times in ISO 8601 with microseconds, decimals with ten digits, numbers as text.
"""

import datetime
import decimal
import json
import math
import sys


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


language, lines = sys.argv[1], sys.stdin.read()
if language == "clickhouse":
    import chdb

    runs = chdb.query(lines, "ArrowTable")
else:
    scope = {}
    exec(lines, scope)
    runs = scope["runs"]
for row in rows_of(runs):
    print(json.dumps({name: plain(value) for name, value in row.items()}))
