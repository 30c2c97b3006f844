import { describe, expect, it } from '@jest/globals';
import { ApiError } from '#lib/kube-semantics';
import { parseYaml } from './parse-yaml.js';

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
  // a parser that compares each key with all, or looks up the line of each error, takes minutes for the two
  it('reads many keys, and refuses many errors, in linear time', () => {
    const startedMs = performance.now();
    expect(Object.keys(parseYaml(keys(18_000)) as object)).toHaveLength(18_000);
    expect(refusal(`a: "${'\\q'.repeat(120_000)}"`)).toEqual([
      400,
      expect.stringContaining('Invalid escape'),
    ]);
    expect(performance.now() - startedMs).toBeLessThan(30_000);
  });
});
