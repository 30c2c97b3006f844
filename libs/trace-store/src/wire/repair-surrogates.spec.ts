import fc from 'fast-check';
import { atOnce } from '#lib/json';
import { repairSurrogates } from './text-pieces.js';

/** JSON with every character that could be, and some that need not be, escaped. */
function escaped(text: string): string {
  return JSON.stringify(text).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Every other escape in upper case. */
function mixed(json: string): string {
  let n = 0;
  return json.replace(/\\u([0-9a-f]{4})/g, (whole, digits: string) =>
    n++ % 2 ? whole : `\\u${digits.toUpperCase()}`,
  );
}

describe('repairSurrogates', () => {
  const unit = fc.constantFrom('\ud83d', '\ude00', '\\', 'u', 'd', '8', '"', 'é', '\\ud83d', '\u0000', 'x');

  it('replaces halves of surrogate pairs as toWellFormed does, and changes nothing else', () => {
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 12 }), (units) => {
        const text = units.join('');
        for (const spelled of [escaped(text), escaped(text).replace(/\\ud/g, '\\uD'), mixed(escaped(text))]) {
          const json = Buffer.from(spelled);
          const before = JSON.parse(spelled) as string;
          atOnce(repairSurrogates(json));
          expect(JSON.parse(json.toString())).toBe(before.toWellFormed());
        }
      }),
      { numRuns: 3000 },
    );
  });
});
