import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { CommittedObject, TextPacker } from './stored-object.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const packer = new TextPacker();

function committed(): { readonly stored: CommittedObject; readonly first: WeakRef<object> } {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
  return { stored: new CommittedObject(JSON.stringify(object), 1, object), first: new WeakRef(object) };
}

async function isKept(first: WeakRef<object>): Promise<boolean> {
  await setImmediate();
  collectGarbage();
  return first.deref() !== undefined;
}

describe('CommittedObject', () => {
  it('releases what was not read since the last rest, and parses it for its next reader', async () => {
    const { stored, first } = committed();
    stored.rest(packer);
    expect(await isKept(first)).toBe(false);
    expect(stored.apiVersion).toBe('v1');
    expect(stored.object.metadata.name).toBe('a');
    expect(stored.object).toBe(stored.object);
  });

  it('keeps what is read', async () => {
    const { stored, first } = committed();
    for (let n = 0; n < 3; n++) {
      expect(stored.object.kind).toBe('ConfigMap');
      stored.rest(packer);
    }
    expect(await isKept(first)).toBe(true);
    stored.rest(packer);
    expect(await isKept(first)).toBe(false);
  });

  it('releases what another state took the place of', async () => {
    const { stored, first } = committed();
    expect(stored.object.kind).toBe('ConfigMap');
    stored.replaced();
    expect(await isKept(first)).toBe(false);
    expect(stored.object.metadata.name).toBe('a');
  });
});
