import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { jsonLines } from './watched-events.js';

async function* chunks(text: string, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let rest = Buffer.from(text);
  for (const size of sizes) {
    yield rest.subarray(0, size);
    rest = rest.subarray(size);
  }
  yield rest;
}

async function read(stream: AsyncIterable<Uint8Array>): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of jsonLines(stream)) values.push(value);
  return values;
}

describe('jsonLines', () => {
  it('reads the same documents however the bytes are cut, letters of several bytes included', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue()), fc.array(fc.nat(20)), async (values, sizes) => {
        const text = values.map((value) => `${JSON.stringify(value)}\n`).join('');
        const parsed = values.map((value): unknown => JSON.parse(JSON.stringify(value)));
        expect(await read(chunks(text, sizes))).toEqual(parsed);
      }),
      { numRuns: 100 },
    );
  });

  it('says so when the stream ends in the middle of a document', async () => {
    await expect(read(chunks('{"a":1}\n{"b"', [3]))).rejects.toThrow('in the middle of a line');
  });
});
