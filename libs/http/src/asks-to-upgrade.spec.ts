import { describe, expect, it } from '@jest/globals';
import { asksToUpgrade } from './asks-to-upgrade.js';

describe('asksToUpgrade', () => {
  it.each([
    [true, 'a WebSocket', 'GET', { upgrade: 'websocket' }],
    [true, 'several protocols', 'GET', { upgrade: 'h2c, websocket' }],
    [false, 'HTTP/2', 'GET', { upgrade: 'H2C' }],
    [false, 'a method with a body', 'POST', { upgrade: 'websocket' }],
    [false, 'no protocol', 'GET', {}],
  ])('answers %s for %s', (expected, _what, method, headers) =>
    expect(asksToUpgrade({ method, headers })).toBe(expected),
  );
});
