import { describe, expect, it } from '@jest/globals';
import type { StoredChange, StoredObject } from '../store/stored-object.js';
import { asLeft } from './serve-watch.js';

let prints = 0;

function stored(revision: number, labels: object): StoredObject {
  const counted = { toJSON: () => `print ${++prints}` };
  const object = { metadata: { name: 'a', resourceVersion: String(revision), labels }, counted };
  return { object, json: '', revision } as unknown as StoredObject;
}

describe('asLeft', () => {
  it('prints an object once for all watches that it leaves by a change', () => {
    const change: StoredChange = {
      type: 'MODIFIED',
      resource: 'configmaps',
      namespace: 'n',
      name: 'a',
      before: stored(1, { a: 'b' }),
      after: stored(2, {}),
    };
    const [first, second] = [asLeft(change), asLeft(change)];
    expect(second).toBe(first);
    expect(prints).toBe(1);
    expect(JSON.parse(first.json)).toMatchObject({
      metadata: { labels: { a: 'b' }, resourceVersion: '2' },
    });
  });
});
