import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Admission } from '#lib/admission';
import { PublicError } from '#lib/errors';
import { UnreadableError } from './byte-reader.js';
import { MultipartRuns } from './multipart-runs.js';
import { boundaryOf, multipartParts, type MultipartLimits } from './multipart.js';

const LIMITS: MultipartLimits = { maxBytes: 10_000, maxPartBytes: 1_000 };

async function* inChunks(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer, void, void> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = Math.max(1, sizes[i % Math.max(1, sizes.length)] ?? bytes.length);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function read(bytes: Buffer, sizes: readonly number[] = [], limits = LIMITS) {
  const parts: [string, string][] = [];
  for await (const part of multipartParts(inChunks(bytes, sizes), 'b', limits))
    parts.push([part.name, part.body.toString('latin1')]);
  return parts;
}

function write(parts: readonly (readonly [string, string])[], hasLength: boolean): Buffer {
  const text = parts.map(([name, body]) => {
    const length = hasLength ? `Content-Type: a/b; length=${body.length}` : 'Content-Type: a/b';
    return `--b\r\nContent-Disposition: form-data; name="${name}"\r\n${length}\r\n\r\n${body}\r\n`;
  });
  return Buffer.from(`${text.join('')}--b--\r\n`, 'latin1');
}

describe('a multipart body', () => {
  it('has the same parts in whatever pieces it arrives, with lengths and without', async () => {
    const part = fc.tuple(
      fc.stringMatching(/^[a-z.]{1,8}$/),
      fc.string({ unit: fc.constantFrom('\r', '\n', '-', 'b', 'x') }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 5 }),
        fc.array(fc.nat(7), { minLength: 1 }),
        fc.boolean(),
        async (parts, sizes, hasLength) => {
          fc.pre(hasLength || parts.every(([, body]) => !`\r\n${body}\r\n`.includes('\r\n--b')));
          expect(await read(write(parts, hasLength), sizes)).toEqual(parts);
        },
      ),
    );
  });

  it('accepts an empty multipart body', async () => {
    expect(await read(Buffer.from('--b--\r\n'))).toEqual([]);
  });

  it.each<[string, Buffer, boolean]>([
    ['a part above its limit, announced', write([['a', 'x'.repeat(1001)]], true), true],
    ['a part above its limit, found out', write([['a', 'x'.repeat(2000)]], false), true],
    [
      'a body above its limit',
      write(
        Array.from({ length: 20 }, (_, i) => [`p${i}`, 'x'.repeat(900)]),
        true,
      ),
      true,
    ],
    ['headers without an end', Buffer.from(`--b\r\n${'x'.repeat(9000)}`), false],
    ['an end in the middle of a part', write([['a', 'xyz']], true).subarray(0, 70), false],
  ])('refuses a multipart body with %s', async (_name, bytes, isTooLarge) => {
    const error = await read(bytes, [100]).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(UnreadableError);
    expect((error as UnreadableError).isTooLarge).toBe(isTooLarge);
  });

  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['multipart/form-data; boundary="a b"; x=y', 'a b'],
    ['multipart/form-data', undefined],
    [`multipart/form-data; boundary=${'x'.repeat(300)}`, undefined],
  ])('has its boundary in %j', (contentType, boundary) => {
    expect(boundaryOf(contentType)).toBe(boundary);
  });
});

describe('the parts of a multipart body', () => {
  const parts = (count: number): Buffer =>
    Buffer.from(`${'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(count)}--b--\r\n`);
  const limits = { ...LIMITS, maxBytes: 20_000_000 };

  it('ends with an error beyond 100,000', async () => {
    let count = 0;
    const reading = (async () => {
      for await (const part of multipartParts(inChunks(parts(100_001), [65_536]), 'b', limits))
        count += part.name.length;
    })();
    await expect(reading).rejects.toMatchObject({
      isTooLarge: true,
      message: 'the body has more than 100000 parts',
    });
    expect(count).toBe(100_000);
  });
});

describe('the buffer budget', () => {
  it('admits one request of any size, and others while there is room', () => {
    const budget = new Admission({ capacity: 100, halves: true, refusal: 'no room' });
    const [large, small] = [budget.open(), budget.open()];
    large.hold(90);
    large.hold(90);
    expect(() => small.hold(1)).toThrow(PublicError);
    large.keep(0);
    large.keep(0);
    small.hold(1);
    expect(budget.held).toBe(1);
  });

  it('leaves room to others whatever one owner holds', () => {
    const budget = new Admission({ capacity: 100, halves: true, refusal: 'no room' });
    budget.open('one').hold(40);
    const second = budget.open('one');
    second.hold(10);
    expect(() => budget.open('one').hold(1)).toThrow(PublicError);
    budget.open('two').hold(25);
    expect(() => budget.open('two').hold(1)).toThrow(PublicError);
    budget.open('three').hold(12);
    second.keep(0);
    expect(budget.held).toBe(77);
  });
});

describe('the runs of a multipart body', () => {
  it('keeps the fields that follow a run, also when the run comes twice', () => {
    const runs = new MultipartRuns();
    const add = (name: string, text: string): void =>
      runs.add({ name, contentType: 'application/json', body: Buffer.from(text) });
    add('post.a', '{"first":1}');
    add('post.a', '{"second":1}');
    expect(runs.take(false).post.map(({ run }) => run.toString())).toEqual(['{"first":1}']);
    add('post.a.inputs', '1');
    const { post } = runs.take(true);
    expect(post.map(({ run, fields }) => [run.toString(), fields?.inputs?.toString()])).toEqual([
      ['{"second":1}', '1'],
    ]);
  });

  it('refuses more runs and updates than a request may have, also such as were taken', () => {
    const runs = new MultipartRuns();
    const add = (name: string): void => runs.add({ name, contentType: '', body: Buffer.from('{}') });
    for (let at = 0; at < 20_000; at++) {
      add('post.a');
      if (runs.isFull) runs.take(false);
    }
    add('post.a.inputs');
    expect(() => add('patch.b')).toThrow(
      new UnreadableError('the body has more than 20000 runs and updates', true),
    );
  });
});
