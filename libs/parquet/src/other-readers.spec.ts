import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import parquetjs from 'parquetjs-lite';
import { readParquet } from 'parquet-wasm';
import { type Row, writeFile, type WantedColumn } from '../testdata/write-file.js';
import type { Compression } from './compression.js';

const COLUMNS: readonly WantedColumn[] = [
  { name: 'id', type: 'uuid', nullable: false, statistics: true },
  { name: 'name', type: 'text', nullable: true, dictionary: true, statistics: true },
  { name: 'flag', type: 'bool', nullable: true },
  { name: 'tokens', type: 'int64', nullable: true, statistics: true },
  { name: 'time', type: 'timestamp', nullable: true, statistics: true },
  { name: 'cost', type: 'decimal', nullable: true, statistics: true },
  { name: 'tags', type: 'text-list', nullable: false, dictionary: true },
  { name: 'parents', type: 'uuid-list', nullable: true },
  { name: 'inputs', type: 'text', nullable: true, longPages: true },
];

const text = fc.string({ unit: 'grapheme', maxLength: 30 }).map((value) => value.replaceAll('\0', ''));
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 4 });
const row: fc.Arbitrary<Row> = fc.tuple(
  fc.uuid(),
  optional(fc.oneof(fc.constantFrom('a', 'b'), text)),
  optional(fc.boolean()),
  optional(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  optional(fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n })),
  optional(
    fc
      .tuple(
        fc.boolean(),
        fc.integer({ min: 0, max: 99_999_999 }),
        fc.integer({ min: 0, max: 9_999_999_999 }),
      )
      .map(([negative, whole, part]) => `${negative ? '-' : ''}${whole}.${String(part).padStart(10, '0')}`),
  ),
  fc.array(text, { maxLength: 4 }),
  optional(fc.array(fc.uuid(), { maxLength: 3 })),
  optional(fc.jsonValue().map((value) => JSON.stringify(value))),
);

const unscaled = (decimal: string): bigint => BigInt(decimal.replace('.', ''));

/** Rows as arrow-rs reads them, in the form that they were written from. */
function readByArrow(file: Buffer): Row[] {
  const table = tableFromIPC(readParquet(new Uint8Array(file)).intoIPCStream());
  const columns = COLUMNS.map(({ name, type }): unknown[] => {
    const vector = table.getChild(name);
    if (!vector) throw new Error(`no column ${name}`);
    const values = Array.from({ length: table.numRows }, (_, n): unknown => vector.get(n));
    if (type === 'timestamp')
      // its getter gives milliseconds as a float: the integers are in the data below
      return vector.data.flatMap((data) =>
        Array.from({ length: data.length }, (_, n) =>
          data.getValid(n) ? (data.values as BigInt64Array)[n + data.offset] : null,
        ),
      );
    if (type === 'decimal')
      return values.map((value) => (value === null ? null : signed(value as Uint32Array)));
    if (type === 'text-list' || type === 'uuid-list')
      return values.map((value) => (value === null ? null : [...(value as Iterable<string>)]));
    return values;
  });
  return Array.from(
    { length: table.numRows },
    (_, n) => columns.map((column) => column[n]) as unknown as Row,
  );
}

function signed(words: Uint32Array): bigint {
  return BigInt.asIntN(
    128,
    [...words].reduce((value, word, n) => value | (BigInt(word) << BigInt(32 * n)), 0n),
  );
}

describe('arrow-rs', () => {
  it.each<Compression>(['none', 'gzip', 'snappy', 'zstd'])(
    'reads any rows, compressed with %s',
    async (compression) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(row, { maxLength: 60 }),
          fc.integer({ min: 1, max: 40 }),
          fc.integer({ min: 1, max: 500 }),
          async (rows, rowGroupRows, pageBytes) => {
            const options = {
              compression,
              rowGroupRows,
              pageBytes,
              pieceBytes: pageBytes,
              nearPageBytes: 2 * pageBytes,
              farPageBytes: 2 * pageBytes,
            };
            const file = await writeFile(COLUMNS, rows, options);
            const expected = rows.map((values) =>
              values.with(5, values[5] === null ? null : (unscaled(values[5] as string) as never)),
            );
            expect(readByArrow(file)).toEqual(expected);
          },
        ),
        { numRuns: 25 },
      );
    },
  );
});

describe('parquetjs-lite', () => {
  const SHARED = ['id', 'name', 'flag', 'tokens', 'tags', 'inputs'];

  it('writes other bytes for the same rows, in which readers find the same values', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parquet-oracle-'));
    const rows = fc.sample(row, { numRuns: 300, seed: 42 });
    const schema = new parquetjs.ParquetSchema({
      id: { type: 'UTF8' },
      name: { type: 'UTF8', optional: true },
      flag: { type: 'BOOLEAN', optional: true },
      tokens: { type: 'INT64', optional: true },
      tags: { type: 'UTF8', repeated: true },
      inputs: { type: 'UTF8', optional: true },
    });
    const path = join(folder, 'oracle.parquet');
    const oracle = await parquetjs.ParquetWriter.openFile(schema, path);
    // its integers go through floats
    const small = rows.map((values) =>
      values.with(3, values[3] === null ? null : (values[3] as bigint) % 2n ** 40n),
    );
    for (const values of small) {
      const entries = COLUMNS.map(({ name }, n) => [name, values[n]] as const);
      await oracle.appendRow(
        Object.fromEntries(
          entries
            .filter(([name, value]) => SHARED.includes(name) && value !== null)
            .map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
        ),
      );
    }
    await oracle.close();
    const ours = await read(await writeFile(COLUMNS, small));
    const theirs = await read(await readFile(path));
    await rm(folder, { recursive: true });
    expect(ours).toHaveLength(300);
    expect(ours).toEqual(theirs);
  });

  async function read(file: Buffer): Promise<unknown[]> {
    const objects = await parquetReadObjects({
      file: new Uint8Array(file).buffer,
      compressors,
      columns: SHARED,
    });
    return objects.map((object) =>
      SHARED.map((name) => {
        const value: unknown = object[name];
        if (name === 'tags') return value ?? [];
        return value ?? null;
      }),
    );
  }
});
