import { describe, expect, it } from '@jest/globals';
import { proxyFor } from './proxy.js';

const PROXY = 'http://proxy.example:3128';
const TLS = { port: 443, isTls: true };

describe('proxyFor', () => {
  it.each([
    ['https URLs', { HTTPS_PROXY: PROXY }, { host: 'store.example', ...TLS }],
    ['http URLs', { HTTP_PROXY: PROXY }, { host: 'store.example', port: 80, isTls: false }],
    [
      'variables in lower case',
      { https_proxy: PROXY, HTTPS_PROXY: 'http://other' },
      { host: 'store.example', ...TLS },
    ],
    [
      'a name that only ends alike',
      { HTTPS_PROXY: PROXY, NO_PROXY: 'ample' },
      { host: 'store.example', ...TLS },
    ],
    [
      'another port',
      { HTTPS_PROXY: PROXY, NO_PROXY: 'store.example:9000' },
      { host: 'store.example', ...TLS },
    ],
    [
      'an address outside of the network',
      { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.0/8' },
      { host: '11.0.0.1', ...TLS },
    ],
  ])('uses the proxy for %s', (_case, environment, target) => {
    expect(proxyFor(target, environment)).toBe(PROXY);
  });

  it.each([
    ['the other scheme', { HTTP_PROXY: PROXY }, 'store.example'],
    ['loopback', { HTTPS_PROXY: PROXY }, '127.8.9.1'],
    ['loopback of IPv6', { HTTPS_PROXY: PROXY }, '::1'],
    ['localhost', { HTTPS_PROXY: PROXY }, 'LocalHost.'],
    ['addresses that serve keys of the machine', { HTTPS_PROXY: PROXY }, '169.254.169.254'],
    ['names of NO_PROXY', { HTTPS_PROXY: PROXY, NO_PROXY: 'other, store.example' }, 'Store.Example'],
    ['names below those of NO_PROXY', { HTTPS_PROXY: PROXY, NO_PROXY: '.example' }, 'a.store.example'],
    ['names with a star', { HTTPS_PROXY: PROXY, no_proxy: '*.example' }, 'store.example'],
    ['a network', { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.0/8' }, '10.1.2.3'],
    ['a network of IPv6', { HTTPS_PROXY: PROXY, NO_PROXY: 'fd00::/8' }, 'fd12::3'],
    ['its very port', { HTTPS_PROXY: PROXY, NO_PROXY: 'store.example:443' }, 'store.example'],
    ['everything', { HTTPS_PROXY: PROXY, NO_PROXY: '*' }, 'store.example'],
    ['a proxy that is no URL', { HTTPS_PROXY: 'proxy' }, 'store.example'],
    ['another kind of proxy', { HTTPS_PROXY: 'socks5://proxy.example' }, 'store.example'],
  ])('uses none for %s', (_case, environment, host) => {
    expect(proxyFor({ host, ...TLS }, environment)).toBeUndefined();
  });
});
