// The same rows written by parquetjs-lite, as an exporter on it would: pages of a cursor, a row at a time, gzip (it has no
// zstd), to a file and no store. Run by export.mjs, which measures it: URI, SELECT and PATH come by the environment.
import parquetjs from 'parquetjs-lite';
import pg from 'pg';

const PAGE = 1_000;
const { URI, SELECT, FILE } = process.env;

const client = new pg.Client({ connectionString: URI });
await client.connect();
await client.query('BEGIN');
await client.query(`DECLARE rows NO SCROLL CURSOR FOR ${SELECT}`);
const first = await client.query(`FETCH ${PAGE} FROM rows`);
const columns = first.fields.map(({ name }) => name);
const schema = new parquetjs.ParquetSchema(
  Object.fromEntries(columns.map((name) => [name, { type: 'UTF8', optional: true, compression: 'GZIP' }])),
);
const writer = await parquetjs.ParquetWriter.openFile(schema, FILE);
writer.setRowGroupSize(10_240);
for (let page = first; page.rows.length > 0; page = await client.query(`FETCH ${PAGE} FROM rows`))
  for (const row of page.rows) {
    const values = Object.entries(row).filter(([, value]) => value !== null);
    // a column that is no text is printed: its own decimals and times cannot be read again
    await writer.appendRow(
      Object.fromEntries(
        values.map(([name, value]) => [name, typeof value === 'string' ? value : String(value)]),
      ),
    );
  }
await writer.close();
await client.end();
