import { apiKeyHash, mintApiKey, parseApiKey, sameHash } from './api-key.js';

describe('an API key', () => {
  it('has the documented form', () => {
    expect(mintApiKey().key).toMatch(/^apk_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/);
  });

  it('parses a minted key into its id and the hash of the whole key', () => {
    const minted = mintApiKey();
    const parsed = parseApiKey(minted.key);
    expect(parsed?.id).toBe(minted.id);
    expect(parsed && sameHash(parsed.hash, minted.hash)).toBe(true);
    expect(minted.hash.equals(apiKeyHash(minted.key))).toBe(true);
  });

  it('mints no key twice', () => {
    expect(new Set(Array.from({ length: 200 }, () => mintApiKey().key)).size).toBe(200);
  });

  const good = mintApiKey().key;
  const last = good.at(-1) === 'a' ? 'b' : 'a';
  it.each([
    ['an empty text', ''],
    ['a wrong last character', good.slice(0, -1) + last],
    ['a changed id', `apk_${good[4] === 'x' ? 'y' : 'x'}${good.slice(5)}`],
    ['a truncated key', good.slice(0, -1)],
    ['a key with something after it', `${good}\n`],
    ['another prefix', good.replace('apk_', 'lsv2_')],
    ['a megabyte', 'a'.repeat(1_000_000)],
  ])('refuses %s', (_name, text) => {
    expect(parseApiKey(text)).toBeUndefined();
  });

  it('compares hashes of different length without throwing', () => {
    expect(sameHash(Buffer.alloc(32), Buffer.alloc(31))).toBe(false);
  });
});
