import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { TokenIssuer } from './token-issuer.js';

const NOW = new Date('2026-11-22T12:00:00Z');
const hours = (count: number): Date => new Date(NOW.getTime() + count * 3_600_000);

describe('a token of a service account', () => {
  const folder = temporaryFolder();
  const issue = async () => {
    const issuer = await TokenIssuer.open(folder);
    const subject = { namespace: 'n', name: 'a', uid: 'u' };
    const request = { subject, audiences: ['here'], expirationSeconds: 3_600, now: NOW };
    return { issuer, token: await issuer.issue(request) };
  };

  it.each([
    ['counts until it expires', 0.9, true],
    ['counts no longer than that', 1.1, false],
    ['counts when the clock was set back by hours', -5, true],
  ])('%s', async (_, after, counts) => {
    const { issuer, token } = await issue();
    expect((await issuer.verify(token, hours(after))) !== undefined).toBe(counts);
    // its signature is not verified again, its times are
    const claims = await issuer.verify(token, NOW);
    expect(claims).toMatchObject({ sub: 'system:serviceaccount:n:a' });
    expect(await issuer.verify(token, hours(after))).toEqual(counts ? claims : undefined);
  });

  it('counts for nothing when its times were changed', async () => {
    const { issuer, token } = await issue();
    const [head, body = '', signature] = token.split('.');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object;
    const forged = Buffer.from(JSON.stringify({ ...claims, nbf: 0, exp: 9_999_999_999 })).toString(
      'base64url',
    );
    expect(await issuer.verify(`${head}.${forged}.${signature}`, NOW)).toBeUndefined();
    expect(await issuer.verify('no token', NOW)).toBeUndefined();
  });
});
