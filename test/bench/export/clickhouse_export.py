"""The same rows by ClickHouse: its own client of Postgres and its own writer of Parquet. Arguments: port, user, password, view, file."""
import sys

import chdb

port, user, password, view, file = sys.argv[1:]
chdb.query(
    f"INSERT INTO FUNCTION file('{file}', 'Parquet') "
    f"SELECT * FROM postgresql('127.0.0.1:{port}', 'postgres', '{view}', '{user}', '{password}') "
    "SETTINGS output_format_parquet_compression_method = 'zstd', engine_file_truncate_on_insert = 1"
)
