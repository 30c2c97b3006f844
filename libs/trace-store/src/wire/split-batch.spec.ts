import { PublicError } from '#lib/errors';
import { atOnce } from '#lib/json';
import { splitBatch } from './run-operation.js';

const problemsOf = (text: string): readonly (readonly [string, string])[] => {
  try {
    atOnce(splitBatch(Buffer.from(text)));
    return [];
  } catch (error) {
    if (!(error instanceof PublicError)) throw error;
    return error.problems.map(({ loc, type }) => [loc.join('.'), type]);
  }
};
const members = (count: number, name: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => `"${name(n)}":[]`).join();

describe('a batch', () => {
  it.each<[string, (n: number) => string, number, string]>([
    ['members of unknown names', (n) => `x${n}`, 100, 'extra_forbidden'],
    ['members of one unknown name', () => 'x', 1, 'extra_forbidden'],
    ['members post', () => 'post', 1, 'value_error'],
  ])('ends the reading of a batch at a hundred %s', (_title, name, count, type) => {
    const problems = problemsOf(`{${members(100, name)},no JSON`);
    expect([problems.length, problems[0]?.[1]]).toEqual([count, type]);
  });

  it('names its unknown members as they are spelt', () => {
    const names = ['é "q"', 'ü', 'a.b'];
    const text = names.map((name) => `${JSON.stringify(name)}:1`).join();
    expect(problemsOf(`{"post":[],${text},"\\u00e9":1}`)).toEqual(
      [...names, 'é'].map((name) => [name, 'extra_forbidden']),
    );
  });
});
