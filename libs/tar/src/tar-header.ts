import { BLOCK_BYTES, paddingOf, type TarEntry } from './tar-entry.js';

/** Content of one header block; preceding records override it. */
export interface TarHeader {
  readonly type: string;
  readonly path: string;
  readonly mode: number;
  readonly bytes: number;
  readonly modifiedMs: number;
  readonly target: string;
}

const NAME = [0, 100] as const;
const MODE = [100, 8] as const;
const SIZE = [124, 12] as const;
const TIME = [136, 12] as const;
const SUM = [148, 8] as const;
const TYPE_AT = 156;
const LINK = [157, 100] as const;
const MAGIC_AT = 257;
const PREFIX = [345, 155] as const;
const MAX_OCTAL = 8 ** 11 - 1;
const TYPES = { file: '0', link: '2', folder: '5' } as const;
const NOTE = 'AGENTPLANE.note';

/**
 * The blocks before the content of an entry: POSIX.1-2001 (pax), with records only for values that do not fit
 * into ustar.
 */
export function renderHeader(entry: TarEntry): Buffer {
  const { path, bytes, modifiedMs, target = '', note } = entry;
  const records = [
    ...(Buffer.byteLength(path) > NAME[1] ? [record('path', path)] : []),
    ...(Buffer.byteLength(target) > LINK[1] ? [record('linkpath', target)] : []),
    ...(bytes > MAX_OCTAL ? [record('size', String(bytes))] : []),
    ...(note === undefined ? [] : [record(NOTE, note)]),
  ];
  const header = block({
    type: TYPES[entry.kind],
    path,
    mode: entry.mode,
    modifiedMs,
    target,
    bytes: Math.min(bytes, MAX_OCTAL),
  });
  if (records.length === 0) return header;
  const body = Buffer.concat(records);
  const pax = block({ type: 'x', path: 'pax', mode: 0o600, bytes: body.length, modifiedMs, target: '' });
  return Buffer.concat([pax, body, Buffer.alloc(paddingOf(body.length)), header]);
}

/** `LENGTH KEYWORD=VALUE\n`, where the length counts itself. */
function record(keyword: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${keyword}=${value}\n`);
  let length = rest + String(rest).length;
  length = rest + String(length).length;
  return Buffer.from(`${length} ${keyword}=${value}\n`);
}

function block({ type, path, mode, bytes, modifiedMs, target }: TarHeader): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  const text = ([at, length]: readonly [number, number], value: string): void =>
    void Buffer.from(value).copy(header, at, 0, length);
  const octal = ([at, length]: readonly [number, number], value: number): void =>
    void header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  text(NAME, path);
  octal(MODE, mode & 0o7777);
  octal([108, 8], 0);
  octal([116, 8], 0);
  octal(SIZE, bytes);
  octal(TIME, Math.max(0, Math.floor(modifiedMs / 1000)));
  header.write(type, TYPE_AT, 'latin1');
  text(LINK, target);
  header.write('ustar\x0000', MAGIC_AT, 'latin1');
  header.write(`${sumOf(header).toString(8).padStart(6, '0')}\0 `, SUM[0], 'latin1');
  return header;
}

/** The sum of all bytes, its own field read as spaces. */
function sumOf(header: Buffer): number {
  let sum = 0;
  for (let at = 0; at < BLOCK_BYTES; at++)
    sum += at >= SUM[0] && at < SUM[0] + SUM[1] ? 0x20 : (header[at] ?? 0);
  return sum;
}

/**
 * @returns undefined for the block of zeros that ends an archive
 * @throws Error when the block is no header
 */
export function parseHeader(header: Buffer): TarHeader | undefined {
  if (header.every((byte) => byte === 0)) return undefined;
  if (number(header, SUM) !== sumOf(header)) throw new Error('a header has a wrong sum');
  const prefix = words(header, PREFIX);
  return {
    type: String.fromCharCode(header[TYPE_AT] ?? 0),
    path: prefix === '' ? words(header, NAME) : `${prefix}/${words(header, NAME)}`,
    mode: number(header, MODE) & 0o7777,
    bytes: number(header, SIZE),
    modifiedMs: number(header, TIME) * 1000,
    target: words(header, LINK),
  };
}

function words(header: Buffer, [at, length]: readonly [number, number]): string {
  const field = header.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? length : end);
}

/** Octal digits, or binary where the first bit is set, as GNU tar and Postgres write large numbers. */
function number(header: Buffer, [at, length]: readonly [number, number]): number {
  const first = header[at] ?? 0;
  if ((first & 0x80) === 0) return Number.parseInt(words(header, [at, length]).trim() || '0', 8);
  let value = first & 0x7f;
  for (let place = at + 1; place < at + length; place++) value = value * 256 + (header[place] ?? 0);
  return value;
}

/** Parses the records of a pax header. @throws Error when they are malformed */
export function parseRecords(body: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < body.length;) {
    const space = body.indexOf(0x20, at);
    const length = Number(body.toString('latin1', at, space));
    const text = body.toString('utf8', space + 1, at + length - 1);
    const equals = text.indexOf('=');
    if (space < 0 || !(length > 0) || at + length > body.length || equals < 0)
      throw new Error('a header has records that cannot be read');
    records.set(text.slice(0, equals), text.slice(equals + 1));
    at += length;
  }
  return records;
}

/** The entry of a header with the records before it. @throws Error for other kinds of entries */
export function entryOf(header: TarHeader, records: ReadonlyMap<string, string>): TarEntry {
  const note = records.get(NOTE);
  const path = (records.get('path') ?? header.path).replace(/\/$/, '');
  const { mode, modifiedMs } = header;
  const base = { path, mode, modifiedMs, ...(note === undefined ? {} : { note }) };
  switch (header.type) {
    case '0':
    case '\0':
      return { ...base, kind: 'file', bytes: sizeOf(path, Number(records.get('size') ?? header.bytes)) };
    case '5':
      return { ...base, kind: 'folder', bytes: 0 };
    case '2':
      return { ...base, kind: 'link', bytes: 0, target: records.get('linkpath') ?? header.target };
    default:
      throw new Error(
        `${path} is of the kind ${JSON.stringify(header.type)}, which is neither a file, a folder nor a symbolic link`,
      );
  }
}

/** A size that is no number would pass every comparison. */
function sizeOf(path: string, bytes: number): number {
  if (Number.isSafeInteger(bytes) && bytes >= 0) return bytes;
  throw new Error(`${path} has a size that is no number of bytes`);
}
