import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { Pieces } from './read-body.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Chunks of one byte that are parts of one larger buffer, like those of the HTTP parser. */
function* ofOneByte(text: string, times: number): Generator<Buffer> {
  for (let n = 0; n < times; n++) {
    const received = Buffer.from(text);
    for (let at = 0; at < received.length; at++) yield received.subarray(at, at + 1);
  }
}

it('holds little more than the bytes of a body that comes one by one', () => {
  const bytes = 1_000_000;
  collect();
  const before = process.memoryUsage();
  const pieces = new Pieces();
  for (const piece of ofOneByte('x'.repeat(10_000), bytes / 10_000)) pieces.add(piece);
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  expect(heapUsed - before.heapUsed + arrayBuffers - before.arrayBuffers).toBeLessThan(10 * bytes);
  expect(pieces.whole().equals(Buffer.alloc(bytes, 'x'))).toBe(true);
});
