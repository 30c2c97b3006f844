import { describe, expect, it } from '@jest/globals';
import { parseJsonPath } from './table-of.js';

const object = {
  spec: {
    replicas: 2,
    list: [
      { name: 'a', n: 1 },
      { name: 'b', n: 2 },
    ],
    'dotted.key': 'x',
    map: { one: 1, two: 2 },
  },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Other', status: 'False' },
    ],
  },
};

describe('JSONPath of printer columns', () => {
  it.each([
    ['.spec.replicas', [2]],
    ['.spec.list[1].name', ['b']],
    ['.spec.list[-1].name', ['b']],
    ['.spec.list[*].name', ['a', 'b']],
    ['.spec.map.*', [1, 2]],
    [".spec['dotted.key']", ['x']],
    ['.spec.dotted\\.key', ['x']],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    [".status.conditions[?(@.type=='Other')].status", ['False']],
    ['.spec.list[?(@.n==2)].name', ['b']],
    ['.spec.list[?(@.name!="a")].n', [2]],
    ['.spec.missing.deep', []],
    ['.spec.list[9].name', []],
  ])('%s', (path, found) => {
    expect(parseJsonPath(path)?.find(object)).toEqual(found);
  });

  it('returns nothing for a text that is not a path', () => {
    expect(parseJsonPath('spec[')).toBeUndefined();
  });
});
