import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { testApi } from '../testdata/test-api.js';
import { routeAccess } from '../wire/route-access.js';

describe('the page of the REST interface', () => {
  const { api } = testApi();
  const hashOf = (text = ''): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

  it('opens without a key, and lets nothing leave the server', async () => {
    for (const route of ['GET /docs', 'GET /docs/{file}'])
      expect(routeAccess().get(route)?.kind).toBe('public');
    expect((await fetch(`${api.url}/docs`, { method: 'POST' })).status).toBe(401);
    const answer = await fetch(`${api.url}/docs`);
    const page = await answer.text();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const [, style] = /<style>([^]*)<\/style>/.exec(page) ?? [];
    const [, script] = /<script>([^]*)<\/script>/.exec(page) ?? [];
    expect(answer.headers.get('content-security-policy')?.split('; ')).toEqual([
      `default-src 'none'`,
      `connect-src 'self'`,
      'img-src data:',
      `script-src ${hashOf(script)} 'strict-dynamic'`,
      `style-src 'self' ${hashOf(style)}`,
      `base-uri 'none'`,
      `form-action 'none'`,
      `frame-ancestors 'none'`,
    ]);
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page).not.toMatch(/https?:|\/\/[a-z]/);
  });

  it.each([
    ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
    ['swagger-ui.css', 'text/css; charset=utf-8'],
  ])('streams %s, and answers 304 to who has it', async (name, type) => {
    const answer = await fetch(`${api.url}/docs/${name}`);
    const { length } = Buffer.from(await answer.arrayBuffer());
    const tag = answer.headers.get('etag') ?? '';
    expect(tag).toMatch(/^"[\w-]{27}"$/);
    expect(length).toBeGreaterThan(100_000);
    const seen = [answer.status, ...['content-type', 'content-length'].map((n) => answer.headers.get(n))];
    expect(seen).toEqual([200, type, String(length)]);
    expect(answer.headers.get('cache-control')).toBe('public, no-cache');
    for (const known of [tag, `"other", W/${tag}`]) {
      const again = await fetch(`${api.url}/docs/${name}`, { headers: { 'if-none-match': known } });
      expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, tag, '']);
    }
    const head = await fetch(`${api.url}/docs/${name}`, { method: 'HEAD' });
    expect([head.status, head.headers.get('etag')]).toEqual([200, tag]);
  });

  it.each(['index.html', '..%2fpackage.json', '%2e%2e%2findex.js', 'constructor'])(
    'serves no other file: %s',
    async (name) => {
      const answer = await fetch(`${api.url}/docs/${name}`);
      expect([answer.status, await answer.json()]).toEqual([404, { detail: 'Not Found' }]);
    },
  );
});
