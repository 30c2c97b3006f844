import { describe, expect, it } from '@jest/globals';
import { ClientWords } from './route-hosts.js';

describe('ClientWords', () => {
  const CLAIMED = {
    host: 'weather.agents.test',
    'x-forwarded-for': '198.51.100.7, 10.0.0.9',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-prefix': '/x',
    forwarded: 'for=198.51.100.7',
  };
  const wordsOf = (remoteAddress: string, proxies?: readonly string[]) =>
    new ClientWords(proxies).headersOf({ headers: CLAIMED, socket: { remoteAddress } });

  it('puts what the platform saw in place of what a client wrote', () => {
    expect(wordsOf('::ffff:203.0.113.9')).toEqual({
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'weather.agents.test',
      'x-forwarded-prefix': undefined,
      forwarded: undefined,
    });
  });

  it('passes the words of a trusted proxy on, with the one client that it names', () => {
    expect(wordsOf('10.0.0.1', ['10.0.0.0/8', '::1'])).toEqual({
      'x-forwarded-for': '198.51.100.7',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-prefix': '/x',
      forwarded: undefined,
    });
    expect(wordsOf('10.0.0.1', ['10.0.0.1'])['x-forwarded-for']).toBe('10.0.0.9');
    expect(wordsOf('203.0.113.9', ['10.0.0.0/8'])['x-forwarded-for']).toBe('203.0.113.9');
  });
});
