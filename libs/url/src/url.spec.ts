import { urlHost, withoutTrailingSlashes } from './index.js';

describe('parts of URLs', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['agents.example.org', 'agents.example.org'],
    ['::1', '[::1]'],
  ])('has the host %s as %s', (host, expected) => expect(urlHost(host)).toBe(expected));

  it.each([
    ['https://a.example/x//', 'https://a.example/x'],
    ['https://a.example', 'https://a.example'],
    ['/', ''],
    ['', ''],
  ])('ends %s as %s', (text, expected) => expect(withoutTrailingSlashes(text)).toBe(expected));
});
