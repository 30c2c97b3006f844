import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { PublicError } from '#lib/errors';
import { testLake } from '../../testdata/test-lake.js';
import { segmentFile } from '../../testdata/write-segment.js';
import { PAYLOAD_FIELDS, type RunPayloads } from '../run/stored-run.js';
import type { Segment } from '../run/sealed-payloads.js';
import { SegmentReader } from './segment-reader.js';

const test = testLake();
beforeEach(() => {
  test.fail(undefined);
  test.asked.length = 0;
});

async function upload(file: Buffer, rows: number): Promise<Segment> {
  const id = randomUUID();
  const key = `days/${id}.parquet`;
  await test.options.store.put(test.options.bucket, key, file);
  return { tenantId: randomUUID(), projectId: randomUUID(), id, key, rows, bytes: file.length };
}

const shared = 'a conversation that each turn sends again: '.repeat(400);
const text = fc.oneof(
  fc.constantFrom('', '{}', '\uFFFD', 'null', '{"a":"\uFFFD\\u0000"}'),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.nat(shared.length).map((length) => shared.slice(0, length)),
);
const payloads = fc
  .record(Object.fromEntries(PAYLOAD_FIELDS.map((field) => [field, fc.option(text, { nil: undefined })])))
  .map(
    (row) =>
      Object.fromEntries(
        Object.entries(row).flatMap(([field, value]) =>
          value === undefined ? [] : [[field, Buffer.from(value)]],
        ),
      ) as RunPayloads,
  );
const sizes = fc.record({
  rowGroupRows: fc.integer({ min: 1, max: 40 }),
  pieceBytes: fc.constantFrom(1, 1_000),
  nearPageBytes: fc.constantFrom(1, 100, 10_000, 1 << 20),
  farPageBytes: fc.constantFrom(1, 10_000, 1 << 20),
});

function only(row: RunPayloads, fields: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(row)
      .filter(([field]) => fields.includes(field))
      .map(([field, value]) => [field, String(value)]),
  );
}

describe('a reader of segments', () => {
  it('reads what was written for random rows, ordinals and fields', async () => {
    const property = fc.asyncProperty(
      fc.array(payloads, { minLength: 1, maxLength: 60 }),
      sizes,
      fc.subarray([...PAYLOAD_FIELDS]),
      fc.infiniteStream(fc.boolean()),
      async (rows, options, fields, isAsked) => {
        const segment = await upload(await segmentFile(rows, options), rows.length);
        const reader = new SegmentReader(test.options, { cacheBytes: 20_000 });
        for (let time = 0; time < 2; time++) {
          const ordinals = [...rows.keys()].filter(() => isAsked.next().value);
          const read = await reader.read(segment, ordinals, fields);
          expect(read.map((row) => only(row, PAYLOAD_FIELDS))).toEqual(
            ordinals.map((ordinal) => only(rows[ordinal] ?? {}, fields)),
          );
        }
      },
    );
    await fc.assert(property, { numRuns: 20, seed: 20_261_129 });
  });

  it('reads payloads of megabytes between small ones, from pages that look back far', async () => {
    const huge = randomBytes(2_500_000).toString('hex');
    const rows = Array.from({ length: 60 }, (_, at): RunPayloads => {
      if (at % 20 === 7) return { inputs: Buffer.from(`${at}${huge}`), outputs: Buffer.from(huge) };
      return at % 3 === 0 ? {} : { inputs: Buffer.from(`{"n":${at}}`), extra: Buffer.from('') };
    });
    const segment = await upload(await segmentFile(rows, { rowGroupRows: 33 }), rows.length);
    const reader = new SegmentReader(test.options);
    for (const ordinals of [[7], [0, 27, 59], [...rows.keys()]]) {
      const read = await reader.read(segment, ordinals, PAYLOAD_FIELDS);
      for (const [at, ordinal] of ordinals.entries()) {
        const expected = rows[ordinal] ?? {};
        expect(Object.keys(read[at] ?? {}).sort()).toEqual(Object.keys(expected).sort());
        for (const field of PAYLOAD_FIELDS)
          expect(expected[field]?.equals(read[at]?.[field] ?? Buffer.from('-')) ?? true).toBe(true);
      }
    }
  });

  it('asks for the footer once, and for neighbouring pages together', async () => {
    const rows = Array.from({ length: 2_000 }, (_, at): RunPayloads => {
      const inputs = Buffer.from(randomBytes(600).toString('hex'));
      return at % 2 === 0 ? { inputs, outputs: Buffer.from(`${at}`) } : { inputs };
    });
    const file = await segmentFile(rows, { pieceBytes: 1_000, nearPageBytes: 40_000, farPageBytes: 40_000 });
    const segment = await upload(file, rows.length);
    const reader = new SegmentReader(test.options);
    test.asked.length = 0;
    await reader.read(segment, [3], ['inputs', 'outputs']);
    expect(test.asked.length).toBeLessThanOrEqual(3);
    test.asked.length = 0;
    await reader.read(segment, [4], ['inputs', 'outputs']);
    expect(test.asked).toEqual([]);
    const all = await reader.read(segment, [...rows.keys()], ['inputs']);
    expect(all).toHaveLength(rows.length);
    expect(test.asked.length).toBeLessThanOrEqual(2);
  });

  it('refuses a file in which a byte is flipped, or serves what was written', async () => {
    const rows = fc.sample(payloads, { numRuns: 50, seed: 7 });
    const options = { rowGroupRows: 20, pieceBytes: 1_000, nearPageBytes: 2_000, farPageBytes: 2_000 };
    const file = await segmentFile(rows, options);
    const whole = await upload(file, rows.length);
    const reader = new SegmentReader(test.options);
    const expected = rows.map((row) => only(row, PAYLOAD_FIELDS));
    let refused = 0;
    const flips = Array.from({ length: 100 }, (_, at) => Math.floor((at * file.length) / 100));
    for (const at of flips) {
      const damaged = Buffer.from(file);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
      const segment = await upload(damaged, rows.length);
      try {
        const read = await reader.read(segment, [...rows.keys()], PAYLOAD_FIELDS);
        expect({ at, rows: read.map((row) => only(row, PAYLOAD_FIELDS)) }).toEqual({ at, rows: expected });
      } catch (error) {
        refused++;
        expect(String(error)).toContain(`segment ${segment.id} (${segment.key})`);
        expect(error).not.toBeInstanceOf(PublicError);
      }
    }
    expect(refused).toBeGreaterThan(flips.length / 3);
    const read = await reader.read(whole, [...rows.keys()], PAYLOAD_FIELDS);
    expect(read.map((row) => only(row, PAYLOAD_FIELDS))).toEqual(expected);
  });

  it('refuses a file that is missing, cut or another one', async () => {
    const file = await segmentFile([{ inputs: Buffer.from('{}') }]);
    const segment = await upload(file, 1);
    const reader = new SegmentReader(test.options);
    const read = (over: Partial<Segment>) =>
      reader.read({ ...segment, id: randomUUID(), ...over }, [0], ['inputs']);
    await expect(read({ key: 'days/none.parquet' })).rejects.toThrow('the object is missing');
    await expect(read({ bytes: file.length + 10 })).rejects.toThrow('restore the object from a backup');
    await expect(read({ bytes: file.length - 1 })).rejects.toThrow('restore the object from a backup');
    await expect(read({ rows: 2 })).rejects.toThrow('it has 1 rows instead of 2');
    await expect(reader.read(segment, [1], ['inputs'])).rejects.toThrow('it has no row 1 of inputs');
  });

  it('reports that the store is unavailable, and reads again once it is back', async () => {
    const segment = await upload(await segmentFile([{ inputs: Buffer.from('{}') }]), 1);
    const reader = new SegmentReader(test.options);
    for (const kind of ['reset', 'busy'] as const) {
      test.fail(() => (kind === 'reset' ? { kind } : { kind: 'error', code: 'SlowDown' }));
      const failure = await reader.read(segment, [0], ['inputs']).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(PublicError);
      expect(failure).toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 });
      expect(String(failure)).toContain(segment.id);
    }
    test.fail(undefined);
    expect(await reader.read(segment, [0], ['inputs'])).toEqual([{ inputs: Buffer.from('{}') }]);
  });
});
