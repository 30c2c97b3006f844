import { describe, expect, it } from '@jest/globals';
import { addressOf, mayBeAddressOf } from './address-of.js';

const SERVICE = { metadata: { name: 'weather', namespace: 'ws-a' }, spec: { ports: [{ port: 80 }] } };

describe('mayBeAddressOf', () => {
  it.each(['loopback', 'cluster-dns'] as const)('admits what addressOf gives by %s', (mode) => {
    const annotations = { 'agentplane.dev/loopback-port': '41000' };
    const { spec, metadata } = SERVICE;
    const address = addressOf({ spec, metadata: { ...metadata, annotations } }, mode) ?? '';
    expect(mayBeAddressOf(address, metadata, mode)).toBe(true);
  });

  it.each([
    'http://169.254.169.254/',
    'http://127.0.0.1:9464',
    'http://other.ws-a.svc',
    'http://weather.ws-b.svc',
    'http://weather.ws-a.svc.example.org',
    'http://weather.ws-a.svc@example.org',
    'https://weather.ws-a.svc',
    'no address',
  ])('refuses %s on a cluster', (url) => {
    expect(mayBeAddressOf(url, SERVICE.metadata, 'cluster-dns')).toBe(false);
  });

  it.each(['http://10.0.0.1:80', 'http://localhost:80', 'http://127.0.0.2:80', 'http://weather.ws-a.svc'])(
    'refuses %s on loopback',
    (url) => {
      expect(mayBeAddressOf(url, SERVICE.metadata, 'loopback')).toBe(false);
    },
  );
});
