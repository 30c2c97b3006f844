import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { temporaryFolder } from '#lib/testing';
import { unpackArchive } from './fetch-archive.js';

const BLOCK = 512;
const LIMITS = { maxBytes: 65_536, maxEntries: 50 };

interface Entry {
  readonly path: string;
  readonly type?: string;
  readonly content?: string | Buffer;
  readonly target?: string;
  readonly mode?: number;
  /** Size in the header, where it is not that of the content. */
  readonly size?: number;
}

/** A header and its content, however hostile. */
function packed({ path, type = '0', content = '', target = '', mode = 0o644, size }: Entry): Buffer {
  const body = Buffer.from(content);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): void =>
    void header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  header.write(path, 0, 100, 'utf8');
  octal(mode, 100, 8);
  octal(size ?? body.length, 124, 12);
  octal(0, 136, 12);
  header.write('        ', 148, 'latin1');
  header.write(type, 156, 'latin1');
  header.write(target, 157, 100, 'utf8');
  header.write('ustar\x0000', 257, 'latin1');
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return Buffer.concat([header, body, Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)]);
}

function archiveOf(...entries: readonly Entry[]): Buffer {
  return gzipSync(Buffer.concat([...entries.map(packed), Buffer.alloc(2 * BLOCK)]));
}

describe('unpacking an archive', () => {
  const root = temporaryFolder();
  let count = 0;
  let folder: string;
  beforeEach(() => {
    folder = join(root, `place-${count++}`, 'source');
    mkdirSync(folder, { recursive: true });
  });
  const unpack = (archive: Buffer): Promise<void> =>
    unpackArchive(Readable.from([archive]), folder, LIMITS, new AbortController().signal);

  it('makes files and folders, whether folders are named or not', async () => {
    const long = `${'deep/'.repeat(30)}file.txt`;
    await unpack(
      archiveOf(
        { path: './', type: '5' },
        { path: './a/b/c.txt', content: 'text' },
        { path: 'a/', type: '5' },
        { path: 'run.sh', content: '#!/bin/sh', mode: 0o4755 },
        // as git archive and GNU tar have them
        { path: 'pax_global_header', type: 'g', content: '20 comment=0123456789'.slice(0, 20) },
        { path: '././@LongLink', type: 'L', content: `${long}\0` },
        { path: long.slice(0, 99), content: 'far' },
      ),
    );
    expect(readFileSync(join(folder, 'a/b/c.txt'), 'utf8')).toBe('text');
    expect(readFileSync(join(folder, long), 'utf8')).toBe('far');
    expect(statSync(join(folder, 'run.sh')).mode & 0o7777).toBe(0o755);
    expect(statSync(join(folder, 'a/b/c.txt')).mode & 0o7777).toBe(0o644);
  });

  it.each<[string, readonly Entry[], string]>([
    ['a path that leads out', [{ path: '../out.txt', content: 'x' }], 'leads out of the archive'],
    ['such a path further in', [{ path: 'a/../../out.txt', content: 'x' }], 'leads out of the archive'],
    ['an absolute path', [{ path: '/tmp/agentplane-out', content: 'x' }], 'leads out of the archive'],
    [
      'a symbolic link, and a file through it',
      [
        { path: 'a', type: '2', target: '..' },
        { path: 'a/out.txt', content: 'x' },
      ],
      'is a symbolic link',
    ],
    ['a hard link', [{ path: 'a', type: '1', target: '/etc/passwd' }], 'is of the kind "1"'],
    ['a device', [{ path: 'a', type: '3' }], 'is of the kind "3"'],
    ['a pipe', [{ path: 'a', type: '6' }], 'is of the kind "6"'],
    [
      'a file twice',
      [
        { path: 'a', content: '1' },
        { path: './a', content: '2' },
      ],
      '"a" is in the archive twice',
    ],
    [
      'a file in the place of a folder',
      [
        { path: 'a', content: '1' },
        { path: 'a/b', content: '2' },
      ],
      'cannot be unpacked',
    ],
    ['more bytes than an image may have', [{ path: 'a', content: Buffer.alloc(65_537) }], 'more than 0 MB'],
    ['a header that announces more', [{ path: 'a', size: 8 ** 11 - 1 }], 'more than 0 MB'],
    [
      'more entries than an image may have',
      Array.from({ length: 51 }, (_, index) => ({ path: `f${index}` })),
      'more than 50 files and folders',
    ],
    ['folders that no entry names', [{ path: `${'d/'.repeat(49)}f` }, { path: 'e' }], 'more than 50 files'],
    ['a content that is cut', [{ path: 'a', size: 5_000 }], 'bytes are missing at the end'],
  ])('refuses %s', async (_, entries, expected) => {
    await expect(unpack(archiveOf(...entries))).rejects.toThrow(expected);
    expect(existsSync(join(folder, '..', 'out.txt'))).toBe(false);
    expect(existsSync('/tmp/agentplane-out')).toBe(false);
  });

  it('refuses what is no archive, and one that is cut', async () => {
    await expect(unpack(Buffer.from('no archive'))).rejects.toThrow('upload a tar.gz');
    await expect(unpack(gzipSync(Buffer.alloc(600, 1)))).rejects.toThrow('upload a tar.gz');
    const whole = archiveOf({ path: 'a', content: 'x'.repeat(5_000) });
    await expect(unpack(whole.subarray(0, -20))).rejects.toThrow('upload a tar.gz');
  });

  it('refuses an archive of headers without content, whatever it unzips to', async () => {
    const header = packed({ path: 'pax', type: 'x', content: '11 path=abc\n'.slice(0, 11) });
    const archive = gzipSync(Buffer.concat(Array.from({ length: 500 }, () => header)));
    expect(archive.length).toBeLessThan(10_000);
    await expect(unpack(archive)).rejects.toThrow('unpacks to more than');
  });
});
