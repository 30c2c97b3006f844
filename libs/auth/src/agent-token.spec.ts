import { describe, expect, it } from '@jest/globals';
import { parseAgentToken, renderAgentToken } from './agent-token.js';
import { mintApiKey, parseApiKey } from './api-key.js';

const key = mintApiKey();
const token = renderAgentToken(key, { agent: 'Äpfel & Co', untilMs: 1_800_000_000_000 });

describe('a token for an agent', () => {
  it('names its key, its agent and its end, and is proved by the hash of the key alone', () => {
    const parsed = parseAgentToken(token);
    expect(parsed).toMatchObject({ id: key.id, agent: 'Äpfel & Co', untilMs: 1_800_000_000_000 });
    expect(parsed?.proves(key.hash)).toBe(true);
    expect(parsed?.proves(mintApiKey().hash)).toBe(false);
    expect(token).not.toContain(key.key.slice(17));
    expect(parseApiKey(token)).toBeUndefined();
  });

  it.each([
    ['agent', token.replace(/\.[\w-]+\./, `.${Buffer.from('other').toString('base64url')}.`)],
    ['end', token.replace('_1800000000000.', '_1900000000000.')],
    ['proof', `${token.slice(0, -4)}AAAA`],
  ])('loses its proof once its %s was changed', (_part, text) => {
    expect(parseAgentToken(text)?.proves(key.hash)).toBe(false);
  });

  it.each(['', key.key, `${token}\n`, `x${token}`, token.slice(0, -1)])('refuses %j', (text) => {
    expect(parseAgentToken(text)).toBeUndefined();
  });
});
