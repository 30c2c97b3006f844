import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Frame } from './frame.js';
import { parseFromHost, toHost, type ToHost } from './messages.js';

const FOLDER = join(import.meta.dirname, '..', '..', 'python', 'agentplane_worker');
const SOURCE = readFileSync(join(FOLDER, 'frames.py'), 'utf8');

/** The words of a tuple in the source of the Python worker: no Python is needed to read it. */
function wordsOf(name: string): readonly string[] {
  const [, body = ''] = new RegExp(`^${name} = \\(([^)]*)\\)`, 'm').exec(SOURCE) ?? [];
  return [...body.matchAll(/"([a-z-]+)"/g)].map(([, word = '']) => word);
}

/** Frame with every field that any kind asks for. */
const frameOf = (kind: number): Frame => ({ kind, id: 0, head: '{"event":"values"}', body: Buffer.alloc(0) });

describe('order of frames in the Python worker', () => {
  it('gives each kind the number that the server sends', () => {
    const numbers = wordsOf('_TO_HOST').map((kind) => toHost({ kind } as ToHost).kind);
    expect(numbers).toEqual(numbers.map((_, at) => at));
    expect(numbers.length).toBeGreaterThan(5);
    expect(toHost({ kind: 'unknown' } as unknown as ToHost).kind).toBe(-1);
  });

  it('gives each kind the number that the server reads', () => {
    const words = wordsOf('_FROM_HOST');
    const read = words.map((_, kind) => parseFromHost(frameOf(kind)).message.kind);
    expect(read).toEqual(words);
    expect(() => parseFromHost(frameOf(words.length))).toThrow(/unknown kind/);
  });
});
