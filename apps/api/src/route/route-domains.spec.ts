import { describe, expect, it } from '@jest/globals';
import { loadApiConfig } from '../config.js';

describe('AGENTPLANE_ROUTE_DOMAINS', () => {
  const load = (domains: string, publicUrl: string): readonly string[] =>
    loadApiConfig({
      AGENTPLANE_DATABASE_URI: 'x',
      AGENTPLANE_ROUTE_DOMAINS: domains,
      AGENTPLANE_PUBLIC_URL: publicUrl,
    }).routeDomains;

  it('becomes lower case, as hosts of requests are', () => {
    expect(load('Agents.Example.com, b.example.org', 'https://plane.example.com')).toEqual([
      'agents.example.com',
      'b.example.org',
    ]);
  });

  it.each([
    ['a domain beside', 'agents.example.com', 'https://plane.example.com'],
    ['the very domain of', 'plane.example.com', 'https://plane.example.com'],
    ['a domain below', 'agents.plane.example.com', 'https://plane.example.com'],
    ['the end of a word', 'lane.example.com', 'https://plane.example.com'],
    ['an address', 'agents.localhost', 'http://127.0.0.1:8470'],
  ])('takes %s the host of the public URL', (_what, domains, publicUrl) => {
    expect(load(domains, publicUrl)).toEqual([domains]);
  });

  it.each([
    '*.agents.example.com',
    '.agents.example.com',
    'agents.example.com.',
    'agents.example.com:8470',
    'https://agents.example.com',
    'agents..example.com',
    '-agents.example.com',
    'a_b.example.com',
    '10.0.0.1',
  ])('refuses %s, which no host lies below', (domain) => {
    expect(() => load(`b.example.org,${domain}`, 'https://plane.example.com')).toThrow(
      `AGENTPLANE_ROUTE_DOMAINS must be domain names such as agents.example.com, without scheme, port, "*" or a dot at either end, but has "${domain}"`,
    );
  });

  it('needs the public URL for domains that are not of this machine alone', () => {
    const without = (domains: string) =>
      loadApiConfig({ AGENTPLANE_DATABASE_URI: 'x', AGENTPLANE_ROUTE_DOMAINS: domains }).routeDomains;
    expect(without('agents.localhost')).toEqual(['agents.localhost']);
    expect(() => without('agents.localhost,example.com')).toThrow(
      'AGENTPLANE_ROUTE_DOMAINS has example.com, and AGENTPLANE_PUBLIC_URL is missing',
    );
  });

  it.each([
    ['a domain above', 'a.example.org,example.com', 'https://plane.example.com', 'example.com'],
    ['a domain far above in capitals', 'Example.COM', 'https://one.plane.example.com:8443/x', 'example.com'],
    [
      'a domain above, of a host with a dot at its end,',
      'example.com',
      'https://plane.example.com./',
      'example.com',
    ],
  ])('refuses %s of the public URL, and names both', (_what, domains, publicUrl, domain) => {
    const host = new URL(publicUrl).hostname.replace(/\.$/, '');
    expect(() => load(domains, publicUrl)).toThrow(
      `AGENTPLANE_ROUTE_DOMAINS has ${domain}, below which ${host} of AGENTPLANE_PUBLIC_URL lies`,
    );
  });
});
