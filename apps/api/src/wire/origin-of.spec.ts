import { describe, expect, it } from '@jest/globals';
import { askedOrigin, originOf } from './origin-of.js';

describe('askedOrigin', () => {
  it.each([
    ['http', 'agents.example:8470', 'http://agents.example:8470'],
    ['https', '[::1]:8470', 'https://[::1]:8470'],
    ['https', 'a.example/evil', ''],
    ['javascript', 'a.example', ''],
    ['http', '', ''],
  ])('takes %s and %s as %j', (protocol, host, origin) => {
    expect(askedOrigin({ protocol: protocol as 'http', host })).toBe(origin);
  });
});

describe('originOf', () => {
  it('prefers the address of the settings', () => {
    expect(originOf('https://agents.example/', 'http://10.0.0.1')).toBe('https://agents.example');
    expect(originOf(undefined, 'http://10.0.0.1')).toBe('http://10.0.0.1');
  });
});
