import { Readable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { readBody } from './read-body.js';

it('reads a body of many sizes of pieces as it was sent', async () => {
  const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_value, at) => (at * 7) % 251));
  const lengths = [1, 1, 1, 70_000, 2, 3];
  function* pieces(): Generator<Buffer> {
    for (let at = 0, n = 0; at < sent.length; n++) {
      const length = n % 3000 < 2500 ? 1 : (lengths[n % lengths.length] ?? 1);
      yield sent.subarray(at, at + length);
      at += length;
    }
  }
  const body = await readBody(Readable.from(pieces(), { objectMode: false }), sent.length);
  expect(body.equals(sent)).toBe(true);
});

it('refuses a body that is too large, and takes the rest of it', async () => {
  const body = Readable.from([Buffer.alloc(6), Buffer.alloc(6), Buffer.alloc(6)], { objectMode: false });
  const hasEnded = new Promise((resolve) => body.once('end', resolve));
  await expect(readBody(body, 10)).rejects.toMatchObject({ code: 'too_large' });
  await hasEnded;
  body.emit('error', new Error('later'));
});

it('refuses a body for what its account throws', async () => {
  const full = new Error('no room');
  const hold = (): void => {
    throw full;
  };
  await expect(readBody(Readable.from([Buffer.alloc(1)]), 10, hold)).rejects.toBe(full);
});

it('fails for a body that breaks off, before and while it is read', async () => {
  const [broken, closed, gone] = Array.from({ length: 3 }, () => new Readable({ read: () => undefined }));
  gone?.destroy();
  const read = [broken, closed, gone].map((body) => readBody(body ?? Readable.from([]), 10));
  broken?.push(Buffer.alloc(1));
  broken?.destroy(new Error('the client left'));
  closed?.destroy();
  const ends = await Promise.allSettled(read);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
});

it('reads an empty body, also one that has ended before', async () => {
  const ended = Readable.from([], { objectMode: false }).resume();
  await new Promise((resolve) => ended.once('end', resolve));
  expect(await readBody(Readable.from([], { objectMode: false }), 10)).toHaveLength(0);
  expect(await readBody(ended, 10).catch(() => Buffer.alloc(0))).toHaveLength(0);
});
