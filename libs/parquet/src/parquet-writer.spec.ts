import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CopyBinaryReader } from '#lib/postgres';
import { DuckDBInstance } from '@duckdb/node-api';
import { parquetMetadata, parquetReadObjects, type FileMetaData, type SchemaElement } from 'hyparquet';
import { readColumnIndex, readOffsetIndex } from 'hyparquet/src/indexes.js';
import { compressors } from 'hyparquet-compressors';
import { copyBinary, type Value } from '../testdata/copy-binary-bytes.js';
import { type Row, writeFile as write, type WantedColumn } from '../testdata/write-file.js';
import type { ColumnType, ParquetColumn } from './column-type.js';
import type { Compression } from './compression.js';
import type { ParquetWriterOptions } from './parquet-writer.js';

const arrayBuffer = (file: Buffer): ArrayBuffer => new Uint8Array(file).buffer;

/** The schema's leaf of the `number`th column, of files without lists. */
function metadataElement(file: Buffer, number: number): SchemaElement {
  const element = parquetMetadata(arrayBuffer(file)).schema[number + 1];
  if (!element) throw new Error(`the file has no column ${number}`);
  return element;
}

/** Rows as hyparquet reads them. */
async function readByHyparquet(file: Buffer): Promise<Record<string, unknown>[]> {
  return parquetReadObjects({ file: arrayBuffer(file), compressors });
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parquet-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Rows as DuckDB reads them, in JSON. */
async function query(file: Buffer, sql: string): Promise<Record<string, unknown>[]> {
  const path = join(folder, 'file.parquet');
  await writeFile(path, file);
  const connection = await (await DuckDBInstance.create()).connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const result = await connection.runAndReadAll(sql.replaceAll('FILE', `'${path}'`));
    return result.getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}

const column = (name: string, type: ColumnType, options: Partial<ParquetColumn> = {}): WantedColumn => ({
  name,
  type,
  nullable: true,
  statistics: true,
  ...options,
});

const ALL: readonly WantedColumn[] = [
  column('id', 'uuid', { nullable: false }),
  column('name', 'text', { dictionary: true }),
  column('start', 'timestamp', { nullable: false }),
  column('flag', 'bool'),
  column('tokens', 'int64'),
  column('cost', 'decimal'),
  column('parents', 'uuid-list', { nullable: false }),
  column('tags', 'text-list', { dictionary: true }),
  column('tags_text', 'text-list-as-text'),
  column('parents_text', 'uuid-list-as-text', { nullable: false }),
  column('inputs', 'text', { statistics: false, longPages: true }),
];

function uuid(n: number): string {
  const hex = n.toString(16).padStart(12, '0');
  return `0192f0c1-7b1a-7000-8000-${hex}`;
}

/** Rows in which every column now and then has every kind of value. */
function allRows(count: number): Row[] {
  return Array.from({ length: count }, (_, n) => [
    uuid(n),
    n % 7 === 0 ? null : `näme ${n % 5}`,
    1_760_000_000_000_000n + BigInt(n) * 1_000_003n,
    n % 3 === 0 ? null : n % 2 === 0,
    n % 11 === 0 ? null : BigInt(n) * (n % 2 === 0 ? 1n : -1n),
    n % 4 === 0
      ? null
      : `${n % 2 ? '-' : ''}${n}.${String(n * 7)
          .padStart(10, '0')
          .slice(-10)}`,
    Array.from({ length: n % 4 }, (_x, k) => uuid(n + k)),
    n % 5 === 0 ? null : Array.from({ length: n % 3 }, (_x, k) => `tag "${(n + k) % 9}"`),
    n % 5 === 0 ? null : Array.from({ length: n % 3 }, (_x, k) => `tag "${(n + k) % 9}"`),
    Array.from({ length: n % 4 }, (_x, k) => uuid(n + k)),
    n % 6 === 0 ? null : `{"n": ${n}, "text": "${'x'.repeat((n * 37) % 3000)}"}`,
  ]);
}

const plainDecimal = (text: string): string => {
  const negative = text.startsWith('-');
  const [integer = '0', fraction = ''] = text.replace('-', '').split('.');
  const digits = `${BigInt(integer)}.${fraction.padEnd(10, '0')}`;
  return negative && !/^[0.]*$/.test(digits) ? `-${digits}` : digits;
};

const asMicros = (micros: bigint): string => {
  const date = new Date(Number(micros / 1000n));
  return `${date.toISOString().slice(0, 19).replace('T', ' ')}.${String(micros % 1_000_000n).padStart(6, '0')}`;
};

describe('a file', () => {
  const rows = allRows(5000);

  it.each<[Compression, number]>([
    ['none', 1000],
    ['gzip', 10_240],
    ['snappy', 700],
    ['zstd', 1024],
  ])(
    'holds the same values for DuckDB and hyparquet with compression %s',
    async (compression, rowGroupRows) => {
      const file = await write(ALL, rows, { compression, rowGroupRows, pageBytes: 20_000 });
      const byHyparquet = await readByHyparquet(file);
      const byDuck = await query(
        file,
        `SELECT id, name, strftime(start, '%Y-%m-%d %H:%M:%S.%f') AS start, flag, tokens::VARCHAR AS tokens, cost::VARCHAR AS cost,
       parents, tags, tags_text, parents_text, inputs::VARCHAR AS inputs FROM FILE ORDER BY id`,
      );
      const expected = rows.map((row) => ({
        id: row[0],
        name: row[1],
        start: asMicros(row[2] as bigint),
        flag: row[3],
        tokens: row[4] === null ? null : String(row[4]),
        cost: row[5] === null ? null : plainDecimal(row[5] as string),
        parents: row[6],
        tags: row[7],
        tags_text: row[8] === null ? null : JSON.stringify(row[8]),
        parents_text: JSON.stringify(row[9]),
        inputs: row[10],
      }));
      expect(byDuck).toEqual(expected);
      const seen = byHyparquet.map((row, n) => ({
        ...row,
        // milliseconds and floats are all that it gives
        start: Math.abs((row['start'] as Date).getTime() - Number((rows[n]?.[2] as bigint) / 1000n)) <= 1,
        tokens: row['tokens'] === null || row['tokens'] === undefined ? null : String(row['tokens']),
        cost: undefined,
        tags: row['tags'] ?? null,
        inputs: row['inputs'] ?? null,
      }));
      const wanted = expected.map((row) => ({
        ...row,
        start: true,
        cost: undefined,
      }));
      expect(seen).toEqual(wanted);
    },
  );

  it('has the same bytes for the same rows, whatever the pieces they arrive in', async () => {
    const options = { rowGroupRows: 1024, pageBytes: 10_000, pieceBytes: 10_000, farPageBytes: 40_000 };
    const file = await write(ALL, rows, options);
    expect((await write(ALL, rows, options, 997)).equals(file)).toBe(true);
    expect((await write(ALL, rows, { ...options, pendingBytes: 1 }, 1 << 20)).equals(file)).toBe(true);
  });

  it('writes a valid file without rows', async () => {
    const file = await write(ALL, []);
    expect(await query(file, 'SELECT count(*)::INT AS n FROM FILE')).toEqual([{ n: 0 }]);
    expect(await readByHyparquet(file)).toEqual([]);
  });

  it('has the documented types', async () => {
    const file = await write(ALL, allRows(10));
    const described = await query(file, 'DESCRIBE SELECT * FROM FILE');
    expect(Object.fromEntries(described.map((row) => [row['column_name'], row['column_type']]))).toEqual({
      id: 'VARCHAR',
      name: 'VARCHAR',
      start: 'TIMESTAMP WITH TIME ZONE',
      flag: 'BOOLEAN',
      tokens: 'BIGINT',
      cost: 'DECIMAL(18,10)',
      parents: 'VARCHAR[]',
      tags: 'VARCHAR[]',
      tags_text: 'VARCHAR',
      parents_text: 'VARCHAR',
      inputs: 'VARCHAR',
    });
    const metadata: FileMetaData = parquetMetadata(arrayBuffer(file));
    const start = metadata.schema.find(({ name }) => name === 'start');
    expect(start).toMatchObject({
      type: 'INT64',
      repetition_type: 'REQUIRED',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
    });
  });
});

describe('a row group', () => {
  it('ends at its limit of rows or bytes', async () => {
    const columns = [column('id', 'uuid'), column('text', 'text', { statistics: false })];
    const sizes = async (rows: Row[], options: Partial<ParquetWriterOptions>): Promise<number[]> =>
      parquetMetadata(arrayBuffer(await write(columns, rows, options))).row_groups.map(({ num_rows }) =>
        Number(num_rows),
      );
    const small = Array.from({ length: 25 }, (_, n): Row => [uuid(n), 'x']);
    expect(await sizes(small, { rowGroupRows: 10 })).toEqual([10, 10, 5]);
    const large = Array.from({ length: 5 }, (_, n): Row => [uuid(n), 'x'.repeat(30_000)]);
    expect(await sizes(large, { rowGroupBytes: 50_000 })).toEqual([2, 2, 1]);
  });

  it('records its smallest and largest values, by which DuckDB and hyparquet skip it', async () => {
    const rows = allRows(100).map((row): Row => row.with(1, `n${String(row[2]).slice(-3)}`));
    const file = await write(ALL, rows, { rowGroupRows: 50 });
    const stats = await query(
      file,
      `SELECT row_group_id::INT AS g, path_in_schema AS c, stats_min_value AS min, stats_max_value AS max, stats_null_count::INT AS nulls
       FROM parquet_metadata(FILE) WHERE path_in_schema IN ('id','start','tokens','cost') ORDER BY ALL`,
    );
    expect(stats).toEqual([
      { g: 0, c: 'cost', min: '-49.0000000343', max: '46.0000000322', nulls: 13 },
      { g: 0, c: 'id', min: uuid(0), max: uuid(49), nulls: 0 },
      { g: 0, c: 'start', min: '2025-10-09 08:53:20+00', max: '2025-10-09 08:54:09.000147+00', nulls: 0 },
      { g: 0, c: 'tokens', min: '-49', max: '48', nulls: 5 },
      { g: 1, c: 'cost', min: '-99.0000000693', max: '98.0000000686', nulls: 12 },
      { g: 1, c: 'id', min: uuid(50), max: uuid(99), nulls: 0 },
      {
        g: 1,
        c: 'start',
        min: '2025-10-09 08:54:10.00015+00',
        max: '2025-10-09 08:54:59.000297+00',
        nulls: 0,
      },
      { g: 1, c: 'tokens', min: '-97', max: '98', nulls: 5 },
    ]);
    expect(await query(file, `SELECT count(*)::INT AS n FROM FILE WHERE id >= '${uuid(60)}'`)).toEqual([
      { n: 40 },
    ]);
  });

  it('has no bounds of what is null, or was not to have any', async () => {
    const columns = [column('none', 'text', { statistics: false }), column('empty', 'int64')];
    const file = await write(columns, [
      ['a', null],
      ['b', null],
    ]);
    const stats = await query(
      file,
      'SELECT stats_min_value AS min, stats_null_count::INT AS nulls FROM parquet_metadata(FILE)',
    );
    expect(stats).toEqual([
      { min: null, nulls: 0 },
      { min: null, nulls: 2 },
    ]);
  });

  it.each<[string, readonly string[], string, string | null, boolean, boolean]>([
    ['fit', ['b', 'a'.repeat(64)], 'a'.repeat(64), 'b', true, true],
    [
      'are longer than 64 bytes',
      ['b'.repeat(65), 'a'.repeat(99)],
      'a'.repeat(64),
      `${'b'.repeat(63)}c`,
      false,
      false,
    ],
    [
      'have one long beginning',
      ['b'.repeat(64), 'b'.repeat(65)],
      'b'.repeat(64),
      `${'b'.repeat(63)}c`,
      true,
      false,
    ],
    // the 64th byte is in the middle of a character
    ['end in a character', [`${'a'.repeat(63)}éé`], 'a'.repeat(63), `${'a'.repeat(62)}b`, false, false],
    [
      'have no larger neighbour there',
      [`b${'\u{10ffff}'.repeat(20)}`],
      `b${'\u{10ffff}'.repeat(15)}`,
      'c',
      false,
      false,
    ],
    ['have none at all', ['\u{10ffff}'.repeat(20)], '', null, false, false],
    [
      'lie before the surrogates',
      ['\ud7ff'.repeat(30)],
      '\ud7ff'.repeat(21),
      `${'\ud7ff'.repeat(20)}\ue000`,
      false,
      false,
    ],
  ])('has bounds of texts that %s', async (_name, texts, min, max, isMinExact, isMaxExact) => {
    const file = await write(
      [column('v', 'text')],
      texts.map((text): Row => [text]),
    );
    const statistics = parquetMetadata(arrayBuffer(file)).row_groups[0]?.columns[0]?.meta_data?.statistics;
    expect(statistics).toEqual(
      max === null
        ? { null_count: 0n }
        : {
            null_count: 0n,
            max_value: max,
            min_value: min,
            is_max_value_exact: isMaxExact,
            is_min_value_exact: isMinExact,
          },
    );
    expect(await query(file, `SELECT count(*)::INT AS n FROM FILE WHERE v = '${texts[0]}'`)).toEqual([
      { n: 1 },
    ]);
  });

  it('says by which columns its rows are sorted, as far as the file has them', async () => {
    const columns = ['start', 'id', 'trace'].map((name) => column(name, 'text'));
    const sorting = async (wanted: readonly WantedColumn[]): Promise<unknown> =>
      parquetMetadata(
        arrayBuffer(await write(wanted, [wanted.map(() => 'x')], { sortedBy: ['start', 'id', 'trace'] })),
      ).row_groups[0]?.sorting_columns;
    const ascending = (...numbers: number[]): unknown =>
      numbers.map((column_idx) => ({ column_idx, descending: false, nulls_first: false }));
    expect(await sorting(columns)).toEqual(ascending(0, 1, 2));
    expect(await sorting(columns.toReversed())).toEqual(ascending(2, 1, 0));
    expect(await sorting(columns.slice(0, 1))).toEqual(ascending(0));
    expect(await sorting(columns.slice(1))).toBeUndefined();
  });

  it('has key-value metadata', async () => {
    const metadata = { 'agentplane.export_id': 'e1', 'agentplane.json_columns': 'inputs,outputs' };
    const file = await write([column('v', 'text')], [['x']], { metadata });
    expect(
      await query(file, 'SELECT decode(key) AS k, decode(value) AS v FROM parquet_kv_metadata(FILE)'),
    ).toEqual([
      { k: 'agentplane.export_id', v: 'e1' },
      { k: 'agentplane.json_columns', v: 'inputs,outputs' },
    ]);
    expect(parquetMetadata(arrayBuffer(file)).created_by).toMatch(/^agentplane version \d+\.\d+\.\d+/);
  });
});

describe('the page index', () => {
  it('has the place and the bounds of each page', async () => {
    const columns = [
      column('start', 'timestamp'),
      column('name', 'text', { dictionary: true }),
      column('tokens', 'int64'),
      column('inputs', 'text', { statistics: false, longPages: true }),
    ];
    const rows = Array.from({ length: 2000 }, (_, n): Row => [
      1_760_000_000_000_000n + BigInt(n),
      `n${n % 3}`,
      n < 1200 ? null : BigInt((n * 7919) % 2000),
      `${'x'.repeat(50)}${n}`,
    ]);
    const options = { rowGroupRows: 1500, pageBytes: 1000, pieceBytes: 1000, farPageBytes: 9000 };
    const file = await write(columns, rows, options);
    const { row_groups } = parquetMetadata(arrayBuffer(file));
    for (const [group, { columns: chunks, num_rows }] of row_groups.entries()) {
      for (const [n, chunk] of chunks.entries()) {
        const { page_locations } = readOffsetIndex({
          view: new DataView(arrayBuffer(file), Number(chunk.offset_index_offset)),
          offset: 0,
        });
        expect(page_locations.length).toBeGreaterThan(n === 1 ? 0 : 2);
        expect(page_locations[0]).toMatchObject({
          offset: chunk.meta_data?.data_page_offset,
          first_row_index: 0n,
        });
        for (const [k, page] of page_locations.slice(1).entries()) {
          const former = page_locations[k];
          expect(page.offset).toBe((former?.offset ?? 0n) + BigInt(former?.compressed_page_size ?? 0));
        }
        const [wanted] = columns.slice(n);
        if (wanted?.name === 'inputs') {
          expect(chunk.column_index_offset).toBeUndefined();
          continue;
        }
        const index = readColumnIndex(
          { view: new DataView(arrayBuffer(file), Number(chunk.column_index_offset)), offset: 0 },
          metadataElement(file, n),
        );
        const first = group * options.rowGroupRows;
        for (const [k, { first_row_index }] of page_locations.entries()) {
          const end = Number(page_locations[k + 1]?.first_row_index ?? num_rows);
          const values = rows.slice(first + Number(first_row_index), first + end).map((row) => row[n]);
          const present = values.filter((value) => value !== null);
          expect(index.null_pages[k]).toBe(present.length === 0);
          expect(Number(index.null_counts?.[k])).toBe(values.length - present.length);
          if (present.length === 0 || wanted?.name === 'name') continue;
          const ordered = (present as bigint[]).toSorted((a, b) => (a < b ? -1 : 1));
          const asRead = (value: bigint | undefined): unknown =>
            wanted?.name === 'start' ? new Date(Number(value) / 1000) : value;
          expect(index.min_values[k]).toEqual(asRead(ordered[0]));
          expect(index.max_values[k]).toEqual(asRead(ordered.at(-1)));
        }
        if (wanted?.name === 'start') expect(index.boundary_order).toBe('ASCENDING');
      }
    }
  });
});

describe('a dictionary', () => {
  it('gives a dictionary up in a row group when it grows too large', async () => {
    const columns = [column('name', 'text', { dictionary: true })];
    const rows = Array.from({ length: 3000 }, (_, n): Row => [`${n}`.padEnd(n < 2000 ? 1000 : 5, 'x')]);
    const file = await write(columns, rows, { pageBytes: 100_000, rowGroupRows: 2500 });
    expect((await readByHyparquet(file)).map(({ name }) => name)).toEqual(rows.map(([name]) => name));
    expect(await query(file, 'SELECT count(DISTINCT name)::INT AS n FROM FILE')).toEqual([{ n: 3000 }]);
    const plain = await write(columns, rows, { compression: 'none' });
    const chunk = parquetMetadata(new Uint8Array(plain).buffer).row_groups[0]?.columns[0]?.meta_data;
    const dictionaryBytes = Number(chunk?.data_page_offset) - Number(chunk?.dictionary_page_offset);
    // half a MiB and the value that was one too many
    expect(dictionaryBytes).toBeGreaterThan(500_000);
    expect(dictionaryBytes).toBeLessThan(530_000);
  });

  it.each([1, 2, 3, 255, 256, 257, 5000])('reads a dictionary of %d values back', async (distinct) => {
    const columns = [column('name', 'text', { dictionary: true })];
    const rows = Array.from({ length: 9999 }, (_, n): Row => [`v${(n * n) % distinct}`]);
    const file = await write(columns, rows);
    expect((await readByHyparquet(file)).map(({ name }) => name)).toEqual(rows.map(([name]) => name));
  });
});

describe('a value at the edge', () => {
  const one = async (type: ColumnType, value: Value, sql: string): Promise<unknown> =>
    (
      await query(await write([column('v', type)], [[value]]), `SELECT (${sql})::VARCHAR AS v FROM FILE`)
    )[0]?.['v'];

  it.each([
    ['0.0000000000'],
    ['0.0000000001'],
    ['-0.0000000001'],
    ['0.1234567891'],
    ['1.0000000000'],
    ['9999.9999999999'],
    ['10000.0000000000'],
    ['900000.0000000001'],
    ['899999.9999999999'],
    ['99999999.9999999999'],
    ['-99999999.9999999999'],
    ['12345678.0900000000'],
    ['0.0000070000'],
  ])('reads the decimal %s back', async (text) => {
    expect(await one('decimal', text, 'v')).toBe(plainDecimal(text));
  });

  it.each([
    ['0001-01-01 00:00:00', -62_135_596_800_000_000n],
    ['1969-12-31 23:59:59.999999', -1n],
    ['1970-01-01 00:00:00', 0n],
    ['1999-12-31 23:59:59.999999', 946_684_799_999_999n],
    ['2000-01-01 00:00:00', 946_684_800_000_000n],
    ['2255-06-05 23:47:34.740993', 9_007_199_254_740_993n],
    ['9999-12-31 23:59:59.999999', 253_402_300_799_999_999n],
  ])('reads the time %s back', async (text, micros) => {
    expect(await one('timestamp', micros, `v AT TIME ZONE 'UTC'`)).toBe(text);
  });

  it.each([0n, -1n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)])(
    'reads the int64 %s back',
    async (value) => {
      expect(await one('int64', value, 'v')).toBe(String(value));
    },
  );

  it('reads a text of 20 MB between small ones back', async () => {
    const texts = ['a', 'b'.repeat(20 << 20), '', 'é'];
    const file = await write(
      [column('v', 'text')],
      texts.map((text): Row => [text]),
      {},
      64 << 10,
    );
    expect(await query(file, 'SELECT length(v)::INT AS n, left(v, 1) AS c FROM FILE')).toEqual([
      { n: 1, c: 'a' },
      { n: 20 << 20, c: 'b' },
      { n: 0, c: '' },
      { n: 1, c: 'é' },
    ]);
  });

  it.each<[string, ColumnType, Buffer]>([
    ['NaN', 'decimal', Buffer.from('00000000c0000000', 'hex')],
    ['an infinite time', 'timestamp', Buffer.from('7fffffffffffffff', 'hex')],
    ['a decimal with 9 digits before the point', 'decimal', Buffer.from('00010002000000000001', 'hex')],
    [
      'a null in a list',
      'text-list',
      Buffer.from('000000010000000100000019000000010000000' + '1ffffffff', 'hex'),
    ],
  ])('refuses %s', async (_name, type, bytes) => {
    await expect(write([column('v', type)], [[bytes]])).rejects.toThrow();
  });
});

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

describe('a long page', () => {
  const columns = [column('v', 'text', { statistics: false, longPages: true })];
  const values = Array.from({ length: 4000 }, (_, n) =>
    n % 7 === 0 ? null : `${n} ${'payload '.repeat(n % 900)}`,
  );
  const rows = values.map((value): Row => [value]);

  it.each([4 << 10, 64 << 10, 1 << 20, 64 << 20])(
    'reads what was compressed in pieces of %d bytes like any other',
    async (pieceBytes) => {
      const file = await write(columns, rows, { pieceBytes });
      expect(await query(file, 'SELECT v FROM FILE')).toEqual(values.map((v) => ({ v })));
      expect((await readByHyparquet(file)).map(({ v }) => v)).toEqual(values);
    },
  );

  it('reads huge values of several columns between small ones back', async () => {
    const both = ['a', 'b'].map((name) => column(name, 'text', { statistics: false, longPages: true }));
    const huge = (seed: number, bytes: number): string =>
      createHash('shake256', { outputLength: bytes / 2 })
        .update(`${seed}`)
        .digest('hex');
    const texts = Array.from({ length: 9 }, (_, n): Row =>
      n % 3 === 1 ? [huge(n, 3 << 20), `${n}`.repeat(2 << 20)] : [n % 3 === 0 ? 'small' : null, `${n}`],
    );
    const file = await write(both, texts, {}, 64 << 10);
    expect(await query(file, 'SELECT md5(a) AS a, md5(b) AS b FROM FILE')).toEqual(
      texts.map(([a, b]) => ({ a: a === null ? null : md5(a as string), b: md5(b as string) })),
    );
    expect((await readByHyparquet(file)).map(({ a, b }) => [a, b])).toEqual(texts);
  });

  it('finds what stood megabytes before, in one frame for a row group', async () => {
    const blocks = Array.from({ length: 40 }, (_, n) =>
      createHash('sha512').update(`${n}`).digest('hex').repeat(300),
    );
    const repeating = Array.from({ length: 400 }, (_, n): Row => [`${n} ${blocks[n % 40]}`]);
    const file = await write(columns, repeating);
    expect(file.length).toBeLessThan(60_000);
    expect(await query(file, 'SELECT count(DISTINCT v)::INT AS n FROM FILE')).toEqual([{ n: 400 }]);
  });

  it('ends early where looking back does not pay, from the second row group after a trial on', async () => {
    const rowGroupRows = 450;
    const fresh = Array.from({ length: 5 * rowGroupRows }, (_, n): Row => [
      createHash('shake256', { outputLength: 10_000 }).update(`${n}`).digest('hex'),
    ]);
    const file = await write(columns, fresh, { rowGroupRows });
    const { row_groups } = parquetMetadata(arrayBuffer(file));
    const pages = row_groups.map(({ columns: [chunk] }) => {
      const view = new DataView(arrayBuffer(file), Number(chunk?.offset_index_offset));
      return readOffsetIndex({ view, offset: 0 }).page_locations.length;
    });
    // 9 MB each: two pages of 4 MiB and the rest
    expect(pages).toEqual([1, 1, 3, 3, 3]);
    expect(await query(file, 'SELECT md5(v) AS v FROM FILE')).toEqual(
      fresh.map(([v]) => ({ v: md5(v as string) })),
    );
    const other = { rowGroupRows, pendingBytes: 64 << 20 };
    expect((await write(columns, fresh, other, 1 << 20)).equals(file)).toBe(true);
  });

  it('has more levels than a block of zstd holds', async () => {
    const many = Array.from({ length: 1_200_000 }, (_, n): Row => [(n * 2_654_435_761) % 5 < 2 ? null : 'x']);
    const file = await write(columns, many, { rowGroupRows: 2_000_000, pieceBytes: 100_000 });
    expect(await query(file, 'SELECT count(v)::INT AS n, count(*)::INT AS rows FROM FILE')).toEqual([
      { n: many.filter(([v]) => v !== null).length, rows: 1_200_000 },
    ]);
  });
});

describe('the stream of COPY', () => {
  it.each([1, 2, 3, 19, 20, 21, 1000])(
    'reads the stream of COPY in pieces of %d bytes',
    async (pieceBytes) => {
      const rows = allRows(40);
      const file = await write(ALL, rows, {}, pieceBytes);
      expect((await readByHyparquet(file)).map(({ id }) => id)).toEqual(rows.map(([id]) => id));
    },
  );

  it('refuses a stream that is no binary COPY', () => {
    const reader = new CopyBinaryReader(1);
    reader.push(Buffer.from('this is certainly not binary COPY'));
    expect(() => reader.next()).toThrow('does not begin');
    const other = new CopyBinaryReader(2);
    other.push(copyBinary(['text'], [['x']]));
    expect(() => other.next()).toThrow('1 fields instead of 2');
  });

  it('detects a cut stream by its missing trailer', () => {
    const reader = new CopyBinaryReader(1);
    reader.push(copyBinary(['text'], [['x']]).subarray(0, -2));
    expect(reader.next()).toBe(true);
    expect(reader.next()).toBe(false);
    expect(reader.isFinished).toBe(false);
  });
});
