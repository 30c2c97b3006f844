import { pageUrlOf, publicUrlOf } from './public-url.js';

const settings = { publicUrl: undefined, serviceUrl: undefined, trustsForwarded: false, mountPrefix: '' };
const forwarded = {
  host: '10.0.0.1:8000',
  'x-forwarded-host': 'agents.example.com, inner',
  'x-forwarded-proto': 'https',
  'x-forwarded-prefix': '/team/',
};

describe('the public URL', () => {
  it('stays the configured one whatever a request holds', () => {
    const publicUrl = 'https://agents.example.com/x/';
    const configured = { ...settings, publicUrl, serviceUrl: 'http://a.ws-x.svc', trustsForwarded: true };
    expect(publicUrlOf(forwarded, configured)).toBe('https://agents.example.com/x');
  });

  it('falls back to the Service of the deployment', () => {
    const inCluster = { ...settings, serviceUrl: 'http://a.ws-x.svc' };
    expect(publicUrlOf({ host: 'agents.example.com' }, inCluster)).toBe('http://a.ws-x.svc');
    expect(publicUrlOf({ host: 'localhost:80' }, inCluster)).toBe('http://localhost:80');
    expect(publicUrlOf(forwarded, { ...inCluster, trustsForwarded: true })).toContain('agents.example.com');
  });

  it('takes forwarded headers only where they are trusted', () => {
    expect(publicUrlOf(forwarded, settings)).toBeUndefined();
    expect(publicUrlOf(forwarded, { ...settings, trustsForwarded: true })).toBe(
      'https://agents.example.com/team',
    );
  });

  it('ends with the prefix under which the server is mounted', () => {
    const mounted = { ...settings, mountPrefix: '/in' };
    expect(publicUrlOf({ host: 'localhost:80' }, mounted)).toBe('http://localhost:80/in');
    const configured = { ...mounted, publicUrl: 'https://agents.example.com/in/' };
    expect(publicUrlOf({}, configured)).toBe('https://agents.example.com/in');
  });

  it.each([
    { 'x-forwarded-host': 'evil.example.com/path?' },
    { 'x-forwarded-host': 'a b' },
    { 'x-forwarded-proto': 'javascript' },
    { 'x-forwarded-prefix': '/../x y' },
  ])('refuses forwarded headers that make no URL: %j', (wrong) => {
    expect(publicUrlOf({ ...forwarded, ...wrong }, { ...settings, trustsForwarded: true })).toBeUndefined();
  });

  it.each([
    ['localhost:8000', 'http://localhost:8000'],
    ['127.0.0.1:80', 'http://127.0.0.1:80'],
    ['[::1]:80', 'http://[::1]:80'],
    ['agents.example.com', undefined],
    ['127.0.0.1.example.com', undefined],
    ['localhost:80@example.com', undefined],
    ['', undefined],
  ])('takes a host of this machine alone: %j', (host, url) => {
    expect(publicUrlOf({ host }, settings)).toBe(url);
  });
});

describe('the URL of a server for the page that calls it', () => {
  it.each([
    ['agents.example.com', '//agents.example.com/in'],
    ['localhost:8000', 'http://localhost:8000/in'],
    ['a"><script>', undefined],
    ['a b', undefined],
    ['', undefined],
  ])('takes the host of its request: %j', (host, url) => {
    expect(pageUrlOf({ host }, { ...settings, mountPrefix: '/in' })).toBe(url);
  });

  it('takes settings and trusted headers first', () => {
    const host = 'inner:8000';
    const told = { ...settings, publicUrl: 'https://agents.example.com/x/' };
    expect(pageUrlOf({ host }, told)).toBe('https://agents.example.com/x');
    expect(pageUrlOf(forwarded, { ...settings, trustsForwarded: true })).toBe(
      'https://agents.example.com/team',
    );
  });
});
