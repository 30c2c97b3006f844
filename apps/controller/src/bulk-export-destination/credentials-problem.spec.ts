import type { Secret } from '#lib/resources';
import { secretProblem } from './store-settings.js';

function secretOf(values: Readonly<Record<string, string>>): Secret {
  const data = Object.entries(values).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    data: Object.fromEntries(data) as Record<string, string>,
  };
}

const GOOD = { access_key_id: 'AKIA', secret_access_key: 'a/b+c=' };

describe('secretProblem', () => {
  it.each<[string, Readonly<Record<string, string>>]>([
    ['two keys', GOOD],
    ['a session token', { ...GOOD, session_token: 'FwoG/+=' }],
    ['a chosen secret with a blank and a letter beyond ASCII', { ...GOOD, secret_access_key: 'my söcret' }],
    ['a key that is none of a destination', { ...GOOD, note: 'two\nlines' }],
  ])('accepts %s', (_name, values) => {
    expect(secretProblem('s', secretOf(values))).toBeUndefined();
  });

  it('names the keys that the Secret lacks', () => {
    expect(secretProblem('s', undefined)).toBe('Secret s does not exist in this namespace');
    expect(secretProblem('s', secretOf({ access_key_id: '' }))).toBe(
      'Secret s has no access_key_id and no secret_access_key',
    );
  });

  it.each([
    ['access_key_id', 'AKIA\n'],
    ['access_key_id', 'AK IA'],
    ['access_key_id', '\ufeffAKIA'],
    ['secret_access_key', 'secret\n'],
    ['secret_access_key', 'secret\r\n'],
    ['secret_access_key', ' secret'],
    ['secret_access_key', 'sec\nret'],
    ['session_token', 'token\n'],
  ])('names %s of the value %j', (key, text) => {
    expect(secretProblem('s', secretOf({ ...GOOD, [key]: text }))).toBe(
      `${key} of Secret s contains a line break, a blank or another character that no key has; store the value without it`,
    );
  });
});
