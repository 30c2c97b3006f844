import { judgedAddress } from './auth-user.js';

describe('judgedAddress', () => {
  it.each([
    ['/books/{x}', '/books/%7Bx%7D'],
    ['/%73tore/items', '/store/items'],
    ['/%73%54%2d%2E%5f%7e%30/a%2Fb%20%41?c=%41', '/sT-._~0/a%2Fb%20A?c=%41'],
    ['//files/public', '//files/public'],
    ['/%2573', '/%2573'],
    ['/%zz', '/%zz'],
    ['/a.b/...', '/a.b/...'],
    ['/a?b=/../c\\', '/a?b=/../c\\'],
  ])('judges %s as the path that is served', (target, path) => {
    const { origin, pathname, search } = new URL(judgedAddress('a:80', target));
    expect([origin, pathname + search]).toEqual(['http://a', path]);
  });

  it.each(['/a/../b', '/a/%2E%2e/b', '/.%2e', '/./a', '/a\\b', '/a/..#b', '*', 'http://a/b'])(
    'refuses %s',
    (target) => {
      expect(() => judgedAddress('a', target)).toThrow(/can be read in two ways/);
    },
  );

  it.each([
    undefined,
    '',
    'a/public',
    'a/public?b=',
    'a#',
    'user@a',
    'a b',
    'a/',
    '/a',
    'a//',
    'a/.',
    'a/..',
    'a/x/..',
    'a/x/../',
    'a//..',
    'a\\',
    'a%2f',
  ])('takes no path of the host %s', (host) => {
    expect(new URL(judgedAddress(host, '/store')).href).toBe('http://localhost/store');
  });
});
