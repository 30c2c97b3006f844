import fc from 'fast-check';
import { inTurns, itemsOf, membersOf, valueAt, type JsonStep } from './json-walk.js';

// one name alone is escaped: the parser of Node 24 takes one such name for another in objects of the same shape
const name = fc.constantFrom('a', 'b', '"', 'ü', '', '__proto__');
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(null, true, 0, -1.5e300, '', '\\"', '],}', '\u0000'),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('tree')), { maxLength: 4 }).map((members) => Object.fromEntries(members)),
  ),
}));
const path = fc.array(fc.oneof<fc.Arbitrary<JsonStep>[]>(name, fc.integer({ min: -3, max: 3 })), {
  maxLength: 4,
});

/** The same by a parser. */
function valueIn(value: unknown, steps: readonly JsonStep[]): unknown {
  return steps.reduce((found: unknown, step) => {
    if (Array.isArray(found)) return typeof step === 'number' ? found.at(step) : undefined;
    if (typeof found !== 'object' || found === null || typeof step === 'number') return undefined;
    return Object.getOwnPropertyDescriptor(found, step)?.value;
  }, value);
}

describe('a walk through JSON', () => {
  it('finds at any path what a parser finds', async () => {
    await fc.assert(
      fc.asyncProperty(tree, path, fc.nat(2), async (value, steps, indent) => {
        const json = JSON.stringify(value, null, indent);
        const found = await inTurns(valueAt(json, steps));
        const expected = valueIn(JSON.parse(json), steps);
        if (!found) expect(expected).toBeUndefined();
        else expect(JSON.parse(json.slice(found.start, found.end))).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes the last of members that bear the same name', async () => {
    const json = '{"a":1,"\\u0061":2}';
    const found = await inTurns(valueAt(json, ['a']));
    expect(json.slice(found?.start, found?.end)).toBe('2');
  });

  it.each([
    ['members of a list', [...membersOf('[1]')]],
    ['items of an object', [...itemsOf('{"a":1}')]],
    ['items of an empty list', [...itemsOf(' [ ] ')]],
    ['members of nothing', [...membersOf('')]],
  ])('finds no %s', (_title, found) => {
    expect(found).toEqual([]);
  });

  it.each([
    ['a number in many', `[${'0,'.repeat(3_000_000)}1]`, 3_000_000],
    ['a text of many quotes', `["${'\\"'.repeat(3_000_000)}",1]`, 1],
    ['a text of many backslashes', `["${'\\\\'.repeat(3_000_000)}",1]`, 1],
  ])('gives others their turn on its way to %s', async (_title, json, at) => {
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const found = await inTurns(valueAt(json, [at]));
    isOver = true;
    expect(json.slice(found?.start, found?.end)).toBe('1');
    expect(turns).toBeGreaterThan(20);
  });

  it('ends once its signal is aborted', async () => {
    const left = new AbortController();
    const walk = inTurns(valueAt(`[${'0,'.repeat(1_000_000)}1]`, [-1]), left.signal);
    left.abort(new Error('left'));
    await expect(walk).rejects.toThrow('left');
  });
});
