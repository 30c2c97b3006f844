import { pathShape } from './limit-server.js';

describe('pathShape', () => {
  it.each([
    ['the words of a route', '/threads/search', '/threads/search'],
    ['its version', '/api/v1/public/shared', '/api/v1/public/shared'],
    ['no id', '/threads/01a2017a-7a97-7479-8f02-e1895e7b3c88/runs', '/threads/*/runs'],
    ['no token', '/public/dGhpcyBpcyBhIHRva2Vu/run', '/public/*/run'],
    ['no token of small letters', `/public/${'abcdefghijklmnopqrstuvwxyz'}/run`, '/public/*/run'],
    ['no escaped token', '/hooks/%73ecret', '/hooks/*'],
    ['no query', '/threads?key=secret', '/threads'],
    ['few segments', '/a'.repeat(40), `${'/a'.repeat(11)}/…`],
    ['an empty path', '', ''],
  ])('shows %s', (_title, url, shape) => {
    expect(pathShape(url)).toBe(shape);
  });
});
