import { describe, expect, it } from '@jest/globals';
import { CommittedObject, TextPacker } from '../store/stored-object.js';
import { LETTERS_OF_TURN, unpackInTurns } from './in-turns.js';

const LETTERS = LETTERS_OF_TURN / 4;

function packed(count: number): readonly CommittedObject[] {
  const packer = new TextPacker();
  return Array.from({ length: count }, (_, at) => {
    const metadata = { name: `o${at}`, annotations: { a: 'x'.repeat(LETTERS) } };
    const one = new CommittedObject(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata }), at);
    expect(one.rest(packer)).toBe(true);
    return one;
  });
}

describe('unpackInTurns', () => {
  it('lets other requests be served between packed objects, and does not look at others', async () => {
    const objects = packed(12);
    let turns = 0;
    const context = { nextTurn: () => Promise.resolve(void turns++), signal: new AbortController().signal };
    await unpackInTurns(context, objects);
    expect([turns, objects.map((one) => one.unpack())]).toEqual([3, objects.map(() => 0)]);
    await unpackInTurns(context, objects);
    expect(turns).toBe(3);
  });

  it('ends with its request', async () => {
    const objects = packed(12);
    const left = new AbortController();
    const nextTurn = (): Promise<void> => {
      left.abort(new Error('left'));
      return Promise.reject(left.signal.reason as Error);
    };
    await unpackInTurns({ nextTurn, signal: left.signal }, objects);
    expect(objects.filter((one) => one.unpack() > 0)).toHaveLength(7);
  });
});
