import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { readCredentials } from './credentials.js';

describe('readCredentials', () => {
  const path = join(temporaryFolder(), 'credentials.json');
  const objectStore = { endpoint: 'e', region: 'r', bucket: 'b', accessKeyId: 'id', secretAccessKey: 'key' };
  const whole = { restUrl: 'u', apiKey: 'k', tenantId: 't', operatorKey: 'o', kubeconfig: 'c', objectStore };

  it('answers undefined where there is no file', () => {
    expect(readCredentials(path)).toBeUndefined();
  });

  it('reads the file', () => {
    writeFileSync(path, JSON.stringify(whole));
    expect(readCredentials(path)).toEqual(whole);
  });

  it.each<[string, unknown, string]>([
    ['an empty object', {}, 'restUrl'],
    ['null', null, 'restUrl'],
    ['a file without the store', { ...whole, objectStore: undefined }, 'objectStore.accessKeyId'],
    [
      'a file with half of a key',
      { ...whole, objectStore: { ...objectStore, secretAccessKey: 1 } },
      'objectStore.secretAccessKey',
    ],
  ])('names what is missing in %s, and what to do', (_, content, missing) => {
    writeFileSync(path, JSON.stringify(content));
    expect(() => readCredentials(path)).toThrow(
      `${path} is damaged: ${missing} is missing; restore it from a backup, or remove it: the next start makes new keys`,
    );
  });
});
