import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { askedOrigin, originOf } from './origin-of.js';

describe('askedOrigin', () => {
  const socket = { localAddress: '::ffff:10.0.0.7' } as Socket;
  const asked = (protocol: string, host: string, ips?: string[]): string =>
    askedOrigin({ protocol: protocol as 'http', host, socket, ...(ips ? { ips } : {}) });

  it.each([
    ['http', 'localhost:8470', 'http://localhost:8470'],
    ['https', '[::1]:8470', 'https://[::1]:8470'],
    ['http', '10.0.0.7:8470', 'http://10.0.0.7:8470'],
    ['http', 'agentplane-api.agentplane.svc:8470', 'http://agentplane-api.agentplane.svc:8470'],
    ['http', 'evil.example', ''],
    ['http', 'localhost.evil.example', ''],
    ['http', '127.0.0.1.evil.example', ''],
    ['http', 'a.b.svc.evil', ''],
    ['http', '10.0.0.8:8470', ''],
    ['https', 'a.example/evil', ''],
    ['javascript', 'localhost', ''],
    ['http', '', ''],
  ])('takes %s and %s as %j', (protocol, host, origin) => {
    expect(asked(protocol, host)).toBe(origin);
  });

  it('takes any host that a trusted proxy passes on', () => {
    expect(asked('https', 'agents.example', ['10.0.0.1', '203.0.113.9'])).toBe('https://agents.example');
    expect(asked('https', 'agents.example', ['203.0.113.9'])).toBe('');
  });
});

describe('originOf', () => {
  it('prefers the address of the settings', () => {
    expect(originOf('https://agents.example/', 'http://10.0.0.1')).toBe('https://agents.example');
    expect(originOf(undefined, 'http://10.0.0.1')).toBe('http://10.0.0.1');
  });
});
