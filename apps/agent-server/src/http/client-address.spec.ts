import { describe, expect, it } from '@jest/globals';
import { clientAddressOf } from './authentication.js';

describe('clientAddressOf', () => {
  const addressOf = (forwarded: string | undefined, trusts: boolean): string | undefined =>
    clientAddressOf(
      {
        headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
        socket: { remoteAddress: '10.0.0.1' },
      },
      trusts,
    );

  it.each([
    ['the connection without a trusted proxy', '203.0.113.9', false, '10.0.0.1'],
    ['what a trusted proxy has added', '198.51.100.7, 203.0.113.9', true, '203.0.113.9'],
    ['the connection where that is no address', '203.0.113.9, unknown', true, '10.0.0.1'],
    ['the connection where a trusted proxy added nothing', undefined, true, '10.0.0.1'],
  ])('takes %s', (_what, forwarded, trusts, expected) => {
    expect(addressOf(forwarded, trusts)).toBe(expected);
  });
});
