import { isForApp, needsCaller } from './control.js';

describe('a request', () => {
  it.each<[boolean, readonly string[] | undefined, string, boolean]>([
    [true, ['/custom$'], '/custom/', false],
    [false, ['/custom$'], '/custom/a', false],
    [true, ['$'], '/', false],
    [true, ['/custom'], '/custom', false],
    [true, ['/custom'], '/custom/a?b=/threads', false],
    [false, ['/custom'], '/threads?a=/custom', true],
    [false, ['/custom'], '/threads/1', true],
    [true, [''], '/threads/1', true],
    [false, [''], '/ok?check_db=1', true],
    [false, [''], '*', false],
    // other spellings are read by the app, which may guard their targets
    [true, ['/custom'], '/%74hreads', false],
    [true, ['/custom'], '//threads', false],
    [true, ['/custom'], '/x/../threads', false],
    [true, ['/custom'], '/threads;a', false],
    [true, ['/custom'], '/threads#a', true],
    [true, ['/custom'], '/thre\\ads', false],
    [true, undefined, '/x', false],
    [false, undefined, '/threads', true],
  ])('belongs to the app first: %j, with paths %j at %s', (expected, paths, url, isFound) => {
    const parsed = paths?.map((path) => ({ path: path.replace('$', ''), isWhole: path.endsWith('$') }));
    expect(isForApp(parsed, url, { isFound })).toBe(expected);
  });

  it.each([
    [true, { authenticatesRoutes: true, isAuthFirst: false }, { isFound: false, isOpen: false }],
    [true, { authenticatesRoutes: true, isAuthFirst: false }, { isFound: true, isOpen: true }],
    [false, { authenticatesRoutes: false, isAuthFirst: true }, { isFound: false, isOpen: false }],
    [false, { authenticatesRoutes: false, isAuthFirst: true }, { isFound: true, isOpen: true }],
    [true, { authenticatesRoutes: false, isAuthFirst: true }, { isFound: true, isOpen: false }],
    [false, { authenticatesRoutes: false, isAuthFirst: false }, { isFound: true, isOpen: false }],
  ])('needs a caller before the app: %j, by %j for %j', (expected, settings, own) => {
    expect(needsCaller(settings, own)).toBe(expected);
  });
});
