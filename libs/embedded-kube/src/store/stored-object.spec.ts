import { randomBytes } from 'node:crypto';
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

describe('TextPacker', () => {
  const secret = (value: string): string =>
    JSON.stringify({
      kind: 'Secret',
      metadata: { name: 'a', annotations: { applied: JSON.stringify({ data: { key: value } }) } },
      data: { key: value },
    });

  it('unpacks what it packed', () => {
    const packer = new TextPacker();
    const texts = [secret('YQ=='), secret('é'), '{}'];
    expect(texts.map((text) => packer.unpack(packer.pack(text)))).toEqual(texts);
  });

  it('keeps no value of the Secret that it compares others with', () => {
    const packer = new TextPacker();
    const text = secret(randomBytes(300).toString('base64'));
    packer.pack(text);
    expect(packer.pack(text).length).toBeGreaterThan(300);
  });
});
