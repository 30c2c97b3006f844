import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { testApi } from '../testdata/test-api.js';

const { api, tenant } = testApi();
const id = randomUUID();
let path: string;

const SAME = { 'sec-fetch-site': 'same-origin' };

function signIn(body: Record<string, string>, headers: Record<string, string> = SAME): Promise<Response> {
  const init = { method: 'POST', redirect: 'manual' as const, headers, body: new URLSearchParams(body) };
  return fetch(`${api.url}/sign-in`, init);
}

function cookieOf(answer: Response): string {
  return answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

function open(at: string, cookie?: string): Promise<Response> {
  return fetch(api.url + at, { redirect: 'manual', headers: cookie === undefined ? {} : { cookie } });
}

beforeAll(async () => {
  const run = { id, trace_id: id, name: 'paged', run_type: 'chain', session_name: 'p' };
  await tenant.call('POST', '/runs', { ...run, start_time: new Date().toISOString() });
  const { session_id: projectId } = (await tenant.call('GET', `/runs/${id}`)).json as { session_id: string };
  path = `/o/${tenant.tenantId}/projects/p/${projectId}/r/${id}`;
});

describe('a page', () => {
  it('leads to the form without a session, and back with one', async () => {
    const first = await open(path);
    expect([first.status, first.headers.get('location')]).toEqual([
      303,
      `/sign-in?to=${encodeURIComponent(path)}`,
    ]);
    const signedIn = await signIn({ key: tenant.key, to: path });
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, path]);
    const page = await open(path, cookieOf(signedIn));
    expect([page.status, (await page.text()).includes('paged')]).toEqual([200, true]);
  });

  it('has a cookie for pages alone, which opens nothing of the REST interface', async () => {
    const answer = await signIn({ key: tenant.key });
    expect(answer.headers.getSetCookie()[0]).toMatch(
      /^agentplane_page=[\w.-]+; Path=\/o; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    expect(cookieOf(answer)).not.toContain(tenant.key);
    expect((await open(`/runs/${id}`, cookieOf(answer))).status).toBe(401);
  });

  it('finds its session among cookies of the same name that others have set', async () => {
    const mine = cookieOf(await signIn({ key: tenant.key }));
    const ended = mine.replace(/=\w{12}/, '=AAAAAAAAAAAA');
    for (const cookies of [
      `agentplane_page=; ${mine}`,
      `${ended}; ${mine}`,
      `${mine}; ${ended}`,
      `a=b;${mine}`,
    ])
      expect([cookies, (await open(path, cookies)).status]).toEqual([cookies, 200]);
  });

  it('finds it also behind a cookie that is good for another workspace, which a neighbour set', async () => {
    const mine = cookieOf(await signIn({ key: tenant.key }));
    const theirs = cookieOf(await signIn({ key: (await api.workspace()).key }));
    for (const cookies of [`${theirs}; ${mine}`, `${mine}; ${theirs}`])
      expect((await open(path, cookies)).status).toBe(200);
    expect((await open(path, theirs)).status).toBe(404);
  });

  it('looks for few of them', async () => {
    const mine = cookieOf(await signIn({ key: tenant.key }));
    const others = Array.from({ length: 20 }, (_, n) =>
      mine.replace(/=\w{12}/, `=${String(n).padStart(12, 'A')}`),
    );
    expect((await open(path, [...others, mine].join('; '))).status).toBe(303);
  });

  it('ends with the key of its session', async () => {
    const { key, id: keyId } = await api.store.apiKeys.mint(tenant.tenantId, {
      name: 'short',
      scope: 'read',
    });
    const cookie = cookieOf(await signIn({ key }));
    expect((await open(path, cookie)).status).toBe(200);
    await api.store.apiKeys.revoke(tenant.tenantId, keyId);
    expect((await open(path, cookie)).status).toBe(303);
  });

  it.each([
    ['its end was moved', (value: string) => value.replace(/\.\d+\./, '.99999999999999.')],
    ['its proof is another', (value: string) => `${value.slice(0, -4)}AAAA`],
    ['its key is another', (value: string) => value.replace(/=\w{12}/, '=AAAAAAAAAAAA')],
  ])('takes no cookie of which %s', async (_what, forge) => {
    const cookie = cookieOf(await signIn({ key: tenant.key }));
    expect((await open(path, forge(cookie))).status).toBe(303);
  });

  it('stays hidden from other workspaces and from keys that read nothing', async () => {
    const stranger = await api.workspace();
    const ingest = await api.store.apiKeys.mint(tenant.tenantId, { name: 'in', scope: 'ingest' });
    for (const key of [stranger.key, ingest.key]) {
      const page = await open(path, cookieOf(await signIn({ key })));
      expect([page.status, (await page.text()).includes('paged')]).toEqual([404, false]);
    }
    const theirs = path.replace(tenant.tenantId, stranger.tenantId);
    expect((await open(theirs, cookieOf(await signIn({ key: stranger.key })))).status).toBe(404);
  });
});

describe('the form that asks for a key', () => {
  it.each<[string, Record<string, string>]>([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a site beside it', { 'sec-fetch-site': 'same-site' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['an origin that is hidden', { origin: 'null' }],
  ])('refuses what %s sends', async (_what, headers) => {
    const answer = await signIn({ key: tenant.key }, headers);
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
  });

  it.each(['https://evil.example', '//evil.example', '/o/../runs', '/o\\evil', 'javascript:alert(1)'])(
    'leads to no other place: %s',
    async (to) => {
      expect((await signIn({ key: tenant.key, to })).headers.get('location')).toBe('/o');
    },
  );

  it('says that a key is wrong, and slows down who tries many', async () => {
    const wrong = await signIn({ key: '<script>', to: path });
    const text = await wrong.text();
    expect([wrong.status, text.includes('The API key is not valid'), text.includes('<script>alert')]).toEqual(
      [401, true, false],
    );
    const statuses = [];
    for (let n = 0; n < 200; n++) statuses.push((await signIn({ key: `apk_${n}` })).status);
    expect(statuses).toContain(429);
    expect((await signIn({ key: tenant.key })).status).toBe(303);
  });
});
