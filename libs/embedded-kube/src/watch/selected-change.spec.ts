import { describe, expect, it } from '@jest/globals';
import type { Selection } from '#lib/kube-semantics';
import type { StoredChange, StoredObject } from '../store/stored-object.js';
import { selectedChange } from './serve-watch.js';

/** An object of the past, which is kept as a text. */
const UNREAD = {
  json: '{}',
  revision: 1,
  get object(): never {
    throw new Error('the object was parsed');
  },
} as StoredObject;

const CHANGE: StoredChange = {
  type: 'MODIFIED',
  resource: 'configmaps',
  namespace: 'a',
  name: 'one',
  before: UNREAD,
  after: UNREAD,
};
const ALL: Selection = { namespace: undefined, name: undefined, labels: [], fields: [] };

describe('selectedChange', () => {
  it.each(['ADDED', 'MODIFIED', 'DELETED'] as const)('parses nothing of %s without selectors', (type) => {
    expect(selectedChange({ ...CHANGE, type }, ALL)).toBe(type);
    expect(selectedChange({ ...CHANGE, type }, { ...ALL, namespace: 'a', name: 'one' })).toBe(type);
  });

  it.each([{ namespace: 'b' }, { name: 'two' }])('parses nothing of what is out of scope: %j', (scope) => {
    const labels: Selection['labels'] = [{ key: 'a', operator: 'exists', values: [] }] as never;
    expect(selectedChange(CHANGE, { ...ALL, labels, ...scope })).toBeUndefined();
  });
});
