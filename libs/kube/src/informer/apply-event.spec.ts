import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#lib/resources';
import { applyAbsent, applyDeleted, applySeen } from './informer.js';
import { compareVersions, Store } from './store.js';

const object = (name: string, version: string, uid = name): KubeObject => ({
  metadata: { namespace: 'ns', name, uid, resourceVersion: version },
});
const stored = (...objects: KubeObject[]): Store<KubeObject> => {
  const store = new Store<KubeObject>();
  for (const one of objects) store.put(one);
  return store;
};
const text = (changes: readonly { kind: string; object: KubeObject }[]): string[] =>
  changes.map(({ kind, object: { metadata } }) => `${kind} ${metadata.uid} ${metadata.resourceVersion}`);

describe('events and lists brought into a store', () => {
  it.each<[string, readonly { kind: string; object: KubeObject }[], string[]]>([
    ['an unknown object is added', applySeen(stored(), object('a', '5'), 'watch'), ['added a 5']],
    [
      'a newer version is a change',
      applySeen(stored(object('a', '5')), object('a', '10'), 'watch'),
      ['changed a 10'],
    ],
    ['the same version again is nothing', applySeen(stored(object('a', '5')), object('a', '5'), 'watch'), []],
    [
      'an older version in a watch is nothing',
      applySeen(stored(object('a', '10')), object('a', '9'), 'watch'),
      [],
    ],
    [
      'an older version in a list is the truth',
      applySeen(stored(object('a', '10')), object('a', '9'), 'list'),
      ['changed a 9'],
    ],
    [
      'another uid is an end and a beginning',
      applySeen(stored(object('a', '5', 'x')), object('a', '6', 'y'), 'watch'),
      ['deleted x 5', 'added y 6'],
    ],
    ['a known object is deleted', applyDeleted(stored(object('a', '5')), object('a', '6')), ['deleted a 6']],
    [
      'the end of an earlier object of that name is nothing',
      applyDeleted(stored(object('a', '7', 'y')), object('a', '6', 'x')),
      [],
    ],
    [
      'what a list does not have is deleted',
      applyAbsent(stored(object('a', '5'), object('b', '5')), new Set(['ns/b'])),
      ['deleted a 5'],
    ],
  ])('%s', (_name, changes, expected) => expect(text(changes)).toEqual(expected));

  it('orders versions as numbers of any length', () => {
    expect(['9', '10', '1000000000000000000000', '99'].toSorted(compareVersions)).toEqual([
      '9',
      '10',
      '99',
      '1000000000000000000000',
    ]);
  });
});
