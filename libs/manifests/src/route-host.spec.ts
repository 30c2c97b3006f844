import { describe, expect, it } from '@jest/globals';
import { routeHostOf } from './address-of.js';

const DOMAINS = ['agents.test'];

describe('routeHostOf', () => {
  const assigned = (name: string, namespace: string): string | undefined =>
    routeHostOf(
      {
        metadata: { name, namespace },
        spec: {
          source: 'git_host',
          sourceConfig: {},
          sourceRevisionConfig: {},
          suspend: false,
          revisionHistoryLimit: 1,
        },
      },
      DOMAINS,
    );

  it('assigns a host that is made of name and namespace', () => {
    expect(assigned('a', 'ws-b')).toBe('a--ws-b.agents.test');
  });

  it('assigns different hosts where names and namespaces have hyphens side by side', () => {
    const hosts = [assigned('a--ws-b', 'ws-c'), assigned('a', 'ws-b--ws-c'), assigned('a', 'ws-b')];
    expect(new Set(hosts).size).toBe(3);
    for (const host of hosts) expect(host).toMatch(/^[a-z0-9-]{1,63}\.agents\.test$/);
  });
});
