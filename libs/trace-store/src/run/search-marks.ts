import { type Filter, foldCase } from '#lib/filter-language';
import type { RunPayloads } from './stored-run.js';

/**
 * Marks of a root: a bit for each three characters in a row (trigram) of the beginnings of its inputs and outputs, as people
 * read them. A root without one of the bits of a text does not have that text there. Two trigrams may share a bit, so a
 * root with all of them is read.
 */

/** Number of bits of the column; half of them are set by beginnings of ordinary text. */
export const MARK_BITS = 4_096;
/** Bytes of a payload that are marked. */
const MARKED_BYTES = 2_048;
/** Bits of a text that are compared: more find hardly fewer roots. */
const MOST_COMPARED = 16;

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(.))/g;
const SHORT_ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

function unescaped(json: string): string {
  return json.replace(ESCAPE, (_all, hex: string | undefined, short: string) =>
    hex === undefined ? (SHORT_ESCAPES[short] ?? short) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** The upper 12 bits of a product, which depend on all of its factors. */
function bitOf(first: number, second: number, third: number): number {
  return Math.imul(Math.imul(Math.imul(first, 257) + second, 257) + third, 0x9e3779b1) >>> 20;
}

function eachBit(text: string, visit: (bit: number) => void): void {
  const folded = foldCase(text);
  let first = folded.charCodeAt(0);
  let second = folded.charCodeAt(1);
  for (let at = 2; at < folded.length; at++) {
    const third = folded.charCodeAt(at);
    visit(bitOf(first, second, third));
    first = second;
    second = third;
  }
}

/** Marks of payloads as they are stored; undefined without inputs and outputs. */
export function marksOf({ inputs, outputs }: RunPayloads): Buffer | undefined {
  if (!inputs && !outputs) return undefined;
  const marks = Buffer.alloc(MARK_BITS / 8);
  for (const payload of [inputs, outputs]) if (payload) mark(marks, payload);
  return marks;
}

function mark(marks: Buffer, payload: Buffer): void {
  const json = payload.toString('utf8', 0, MARKED_BYTES);
  eachBit(json.includes('\\') ? unescaped(json) : json, (bit) => {
    // the order of bits in a bit string of Postgres
    marks[bit >> 3] = (marks[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  });
}

/** Bits that each root has whose beginnings contain the text. */
export function markedBits(text: string): readonly number[] {
  const bits = new Set<number>();
  eachBit(text, (bit) => bits.add(bit));
  return [...bits];
}

/** Bits of the texts that a filter demands in inputs or outputs; none when it demands no text of three characters. */
export function searchedBits(filter: Filter | undefined): readonly number[] {
  if (!filter) return [];
  const demanded = filter.kind === 'and' ? filter.conditions : [filter];
  const bits = demanded.flatMap((one) =>
    one.kind === 'search' && one.fields.some((field) => field === 'inputs' || field === 'outputs')
      ? markedBits(one.text)
      : [],
  );
  return [...new Set(bits)].slice(0, MOST_COMPARED);
}

/** SQL that is true when the run in row `r` is a root with all of these bits. */
export function marksSql(r: string, bits: readonly string[]): string {
  return [`${r}.is_root`, ...bits.map((bit) => `get_bit(${r}.search_marks, ${bit}::int) = 1`)].join(' AND ');
}
