import { describe, expect, it } from '@jest/globals';
import { ApiError } from '#lib/kube-semantics';
import { itLong } from '#lib/testing';
import { parseYaml } from './parse-yaml.js';

const LIMIT = 256 * 1024;
const keys = (count: number) => Array.from({ length: count }, (_, at) => `key-${at}: 1`).join('\n');

function refusal(text: string): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [error.code, error.message];
  }
}

describe('parseYaml', () => {
  it('reads a manifest', () => {
    expect(parseYaml('kind: A # comment\nspec: {a: [1, "2", null]}\n')).toEqual({
      kind: 'A',
      spec: { a: [1, '2', null] },
    });
    expect(parseYaml('')).toBeNull();
  });

  it.each([
    ['a key that comes twice', 'a: 1\nb:\n  c: 1\n  c: 2', 'Map keys must be unique at line 4'],
    ['a key that comes twice, quoted', '{a: 1, "a": 2}', 'Map keys must be unique at line 1'],
    ['an empty key that comes twice', '? \n: 1\n? \n: 2', 'Map keys must be unique'],
    ['a list as key', 'a: 1\n? [b]\n: 2', 'Map keys must be scalars at line 2'],
    [
      'a mapping in a line of another',
      'a: 1\nb: c: d',
      'Nested mappings are not allowed in compact mappings',
    ],
    ['an alias', 'a: &x 1\nb: *x', 'Alias resolution is disabled'],
    ['two documents', '--- 1\n--- 2\n', 'multiple documents'],
  ])('refuses %s, and names the place', (_, text, message) => {
    expect(refusal(text)).toEqual([400, expect.stringMatching(`^error decoding YAML: .*${message}`)]);
  });

  it('refuses a text that would take seconds to read', () => {
    expect(refusal(keys(100_000))).toEqual([
      413,
      expect.stringContaining(`limit for YAML is ${LIMIT}; send JSON`),
    ]);
  });

  // a parser that compares each key with all, or looks up the line of each error, takes minutes for the two
  itLong('reads many keys, and refuses many errors, in linear time', () => {
    const startedMs = performance.now();
    expect(Object.keys(parseYaml(keys(18_000)) as object)).toHaveLength(18_000);
    expect(refusal(`a: "${'\\q'.repeat(120_000)}"`)).toEqual([
      400,
      expect.stringContaining('Invalid escape'),
    ]);
    expect(performance.now() - startedMs).toBeLessThan(30_000);
  });
});
