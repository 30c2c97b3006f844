import { parseRedisUri, redisSecrets } from './redis-channel.js';

describe('a REDIS_URI', () => {
  it.each<[string, object]>([
    ['redis://', { kind: 'servers', hosts: [{ host: 'localhost', port: 6379 }], isTls: false, user: {} }],
    [
      'rediss://one:p%40ss@10.0.0.1:80/3',
      { hosts: [{ host: '10.0.0.1', port: 80 }], isTls: true, user: { username: 'one', password: 'p@ss' } },
    ],
    [
      'redis://:p@a,[::1]:7000,c:7001',
      {
        hosts: [
          { host: 'a', port: 6379 },
          { host: '::1', port: 7000 },
          { host: 'c', port: 7001 },
        ],
        user: { password: 'p' },
      },
    ],
    [
      'rediss+sentinel://u:p@a:1,b/main?sentinel_password=q',
      {
        kind: 'sentinels',
        primary: 'main',
        isTls: true,
        user: { username: 'u', password: 'p' },
        hosts: [
          { host: 'a', port: 1 },
          { host: 'b', port: 26_379 },
        ],
        sentinelUser: { password: 'q' },
      },
    ],
  ])('reads %s', (text, places) => expect(parseRedisUri(text)).toMatchObject(places));

  it.each<[string, RegExp]>([
    ['http://127.0.0.1:1', /must be redis:\/\/HOST:PORT/],
    ['127.0.0.1:6379', /must be redis:\/\/HOST:PORT/],
    ['redis+cluster://a:1', /several hosts are separated by commas/],
    ['redis://a:1,redis://b:2', /must (be redis|have hosts)/],
    ['redis://a:1,b:x', /hosts as HOST:PORT/],
    ['redis://a:1?ssl_cert_reqs=none', /must not have the parameter ssl_cert_reqs/],
    ['redis+sentinel://a:1', /must name the primary/],
    ['redis://%zz@a', /hexadecimal/],
  ])('refuses %s', (text, why) => expect(() => parseRedisUri(text)).toThrow(why));

  it('names the secrets that no text shows', () => {
    const uri = 'redis+sentinel://:p%2Fq@a/m?sentinel_password=r';
    expect(redisSecrets(uri)).toEqual([uri, 'p/q', 'r']);
  });
});
