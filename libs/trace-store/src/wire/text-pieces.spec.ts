import { describe, expect, it } from '@jest/globals';
import { textPieces } from './text-pieces.js';

const UNITS = ['x', 'é', '😀', '\\n', '\\\\', '\\"', '\\u00e9', '\\ud83d\\ude00', '\\\\ud83d'];

describe('a piece of a long text', () => {
  it.each(UNITS)('ends between characters of %s', (unit) => {
    for (let shift = 0; shift < 12; shift++) {
      const json = `"${'y'.repeat(shift)}${unit.repeat(30_000)}"`;
      const pieces = [...textPieces(Buffer.from(json))].map((piece) => piece.toString());
      expect(pieces.map((piece) => JSON.parse(`"${piece}"`) as string).join('')).toBe(JSON.parse(json));
      expect(pieces.every((piece) => (JSON.parse(`"${piece}"`) as string).isWellFormed())).toBe(true);
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(65_536);
    }
  });

  it('leaves a short text whole', () => {
    for (const json of ['""', '"a"']) expect([...textPieces(Buffer.from(json))]).toHaveLength(1);
  });
});
