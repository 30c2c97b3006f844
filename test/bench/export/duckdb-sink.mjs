// CSV from stdin to a Parquet file by DuckDB, as an exporter on it would be set: groups of 10,240 rows, zstd level 3.
// COLUMNS (DuckDB's struct of names and types) and FILE come by the environment.
import { DuckDBInstance } from '@duckdb/node-api';

const { COLUMNS, FILE } = process.env;
const connection = await (await DuckDBInstance.create()).connect();
await connection.run("SET TimeZone = 'UTC'; SET preserve_insertion_order = true");
await connection.run(
  `COPY (SELECT * FROM read_csv('/dev/stdin', header = false, auto_detect = false, delim = ',', quote = '"', escape = '"',
    max_line_size = 100000000, columns = ${COLUMNS}))
   TO '${FILE}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3, ROW_GROUP_SIZE 10240)`,
);
connection.closeSync();
