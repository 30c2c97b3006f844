import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { temporaryFolder } from '#lib/testing';
import { readTar } from './read-tar.js';
import { noBody, type TarEntry } from './tar-entry.js';
import { type TarCount, writeTar } from './write-tar.js';

interface Whole {
  readonly entry: TarEntry;
  readonly content: Buffer;
}

async function* itemsOf(all: readonly Whole[]) {
  for (const { entry, content } of all)
    yield {
      entry,
      body:
        content.length === 0
          ? noBody()
          : (async function* () {
              yield content;
            })(),
    };
}

async function tarOf(
  all: readonly Whole[],
  count: TarCount = { entries: 0, contentBytes: 0 },
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of writeTar(itemsOf(all), count)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Pieces of a size that fits no block. */
async function* cut(tar: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < tar.length; at += size) yield tar.subarray(at, at + size);
}

async function read(tar: Buffer, size = 777): Promise<Whole[]> {
  const all: Whole[] = [];
  for await (const { entry, body } of readTar(cut(tar, size))) {
    const pieces: Buffer[] = [];
    for await (const piece of body) pieces.push(piece);
    all.push({ entry, content: Buffer.concat(pieces) });
  }
  return all;
}

const file = (path: string, content: Buffer, note?: string): Whole => ({
  entry: {
    kind: 'file',
    path,
    mode: 0o640,
    bytes: content.length,
    modifiedMs: 1_700_000_000_000,
    ...(note === undefined ? {} : { note }),
  },
  content,
});

describe('tar', () => {
  it('gives back what was written, whatever names, notes and sizes are', async () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 300 })
      .filter((text) => !/[\0/]/.test(text) && text.isWellFormed());
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(name, fc.uint8Array({ maxLength: 2_000 }), fc.option(name, { nil: undefined })), {
          maxLength: 5,
        }),
        fc.integer({ min: 1, max: 3_000 }),
        async (parts, size) => {
          const all = parts.map(([path, content, note]) => file(path, Buffer.from(content), note));
          const count = { entries: 0, contentBytes: 0 };
          expect(await read(await tarOf(all, count), size)).toEqual(all);
          expect(count.entries).toBe(all.length);
        },
      ),
      { numRuns: 100 },
    );
  });

  const folder = temporaryFolder();

  it('writes archives that tar reads, and reads those that tar writes', async () => {
    const long = `${'a'.repeat(90)}/${'b'.repeat(90)}/file`;
    const link: Whole = {
      entry: { kind: 'link', path: 'link', mode: 0o777, bytes: 0, modifiedMs: 0, target: long },
      content: Buffer.alloc(0),
    };
    writeFileSync(join(folder, 'ours.tar'), await tarOf([file(long, Buffer.from('text'), 'noted'), link]));
    mkdirSync(join(folder, 'out'));
    execFileSync('tar', ['-xf', 'ours.tar', '-C', 'out', '--warning=no-unknown-keyword'], { cwd: folder });
    expect(readFileSync(join(folder, 'out', long), 'utf8')).toBe('text');
    expect(readlinkSync(join(folder, 'out', 'link'))).toBe(long);
    execFileSync('tar', ['--format=pax', '-cf', 'theirs.tar', '-C', 'out', '.'], { cwd: folder });
    const found = await read(readFileSync(join(folder, 'theirs.tar')));
    expect(found.find(({ entry }) => entry.path.endsWith('/file'))?.content.toString()).toBe('text');
    expect(found.find(({ entry }) => entry.kind === 'link')?.entry.target).toBe(long);
  });

  it('refuses a damaged header, and an archive that ends too early', async () => {
    const tar = await tarOf([file('one', Buffer.alloc(2_000, 1))]);
    const damaged = Buffer.from(tar);
    damaged.writeUInt8(0x41, 3);
    await expect(read(damaged)).rejects.toThrow('a header has a wrong sum');
    await expect(read(tar.subarray(0, 900))).rejects.toThrow('bytes are missing at the end');
    await expect(read(tar.subarray(0, 300))).rejects.toThrow('the archive ends within a header');
  });

  it('refuses a content that is not as long as its entry says', async () => {
    const { entry } = file('one', Buffer.alloc(10));
    await expect(tarOf([{ entry, content: Buffer.alloc(9) }])).rejects.toThrow(
      'one changed while it was read',
    );
  });
});
