import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ChosenScope } from '#lib/auth';
import { type AgentDeployment, RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { makeRevision } from '../testdata/make-revision.js';
import { testApi } from '../testdata/test-api.js';

const { api, tenant } = testApi();
const id = randomUUID();
const UNKNOWN = randomUUID();
const SAME = { 'sec-fetch-site': 'same-origin' };
let projectId: string;
let deploymentId: string;
let datasetId: string;
let mine: string;

async function signIn(key: string): Promise<string> {
  const body = new URLSearchParams({ key });
  const init = { method: 'POST', redirect: 'manual' as const, headers: SAME, body };
  const answer = await fetch(`${api.url}/sign-in`, init);
  return answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

async function signInBy(scope: ChosenScope): Promise<string> {
  return signIn((await api.store.apiKeys.mint(tenant.tenantId, { name: scope, scope })).key);
}

async function open(
  path: string,
  cookie = mine,
): Promise<{ readonly status: number; readonly text: string; readonly to: string | null }> {
  const answer = await fetch(api.url + path, {
    redirect: 'manual',
    headers: { cookie, accept: 'text/html' },
  });
  return { status: answer.status, text: await answer.text(), to: answer.headers.get('location') };
}

async function send(
  path: string,
  form: Record<string, string> = {},
  headers: Record<string, string> = { ...SAME, cookie: mine },
): Promise<{ readonly status: number; readonly text: string; readonly to: string | null }> {
  const init = { method: 'POST', redirect: 'manual' as const, headers, body: new URLSearchParams(form) };
  const answer = await fetch(api.url + path, init);
  return { status: answer.status, text: await answer.text(), to: answer.headers.get('location') };
}

const at = (...parts: readonly string[]): string => ['/o', tenant.tenantId, ...parts].join('/');

/** Every page of the console, with the ids of the tenant. */
const PAGES: readonly (readonly [name: string, path: () => string])[] = [
  ['deployments', () => at('deployments')],
  ['a deployment', () => at('deployments', deploymentId)],
  ['a thread', () => at('deployments', deploymentId, 'threads', UNKNOWN)],
  ['projects', () => at('projects')],
  ['a project', () => at('projects', 'p', projectId)],
  ['a trace', () => at('projects', 'p', projectId, 'r', id)],
  ['a dataset', () => at('datasets', datasetId)],
  ['chosen experiments', () => `${at('datasets', datasetId, 'compare')}?selectedSessions=${UNKNOWN}`],
  ['exports', () => at('exports')],
  ['an export', () => at('exports', UNKNOWN)],
];

const FORMS: readonly (readonly [name: string, path: () => string])[] = [
  ['a new thread', () => at('deployments', deploymentId, 'threads')],
  ['a message', () => at('deployments', deploymentId, 'threads', UNKNOWN)],
  ['a share', () => at('projects', 'p', projectId, 'r', id, 'share')],
  ['the end of a share', () => at('projects', 'p', projectId, 'r', id, 'unshare')],
];

beforeAll(async () => {
  const run = {
    id,
    trace_id: id,
    name: 'spoken <agent>',
    run_type: 'chain',
    session_name: 'tradedesk',
    start_time: new Date().toISOString(),
    end_time: new Date().toISOString(),
    inputs: { messages: [{ role: 'user', content: 'May I **return** <b>it</b>?' }] },
    outputs: { messages: [{ type: 'ai', content: 'Yes:\n\n- within 30 days' }] },
    extra: { metadata: { thread_id: 'thread-1', channel: 'mail' } },
  };
  await tenant.call('POST', '/runs', run);
  await tenant.call('POST', '/feedback', { run_id: id, key: 'helpful', score: 1, comment: 'kind <words>' });
  projectId = (await tenant.call('GET', `/runs/${id}`)).json.session_id as string;
  const made = await tenant.call('POST', '/v2/deployments', {
    name: 'tradedesk',
    source: 'internal_image',
    source_config: {},
    source_revision_config: { image_uri: 'sample-agent' },
  });
  deploymentId = made.json.id as string;
  datasetId = (await tenant.call('POST', '/datasets', { name: 'tradedesk cases' })).json.id as string;
  await tenant.call('POST', '/sessions', { name: 'tradedesk try', reference_dataset_id: datasetId });
  mine = await signIn(tenant.key);
});

describe('the root of the api', () => {
  it('leads browsers to the pages, and answers monitors as ever', async () => {
    const browser = await fetch(api.url, { redirect: 'manual', headers: { accept: 'text/html,*/*;q=0.8' } });
    expect([browser.status, browser.headers.get('location')]).toEqual([303, '/o']);
    for (const accept of ['*/*', 'application/json', 'text/htmlx']) {
      const monitor = await fetch(api.url, { redirect: 'manual', headers: { accept } });
      expect([monitor.status, await monitor.json()]).toEqual([200, { ok: true }]);
    }
  });

  it('leads who signed in to the first page that the key opens', async () => {
    expect(await open('/o', '')).toMatchObject({ status: 303, to: '/sign-in?to=%2Fo' });
    expect(await open('/o')).toMatchObject({ status: 303, to: at('deployments') });
    expect(await open('/o', await signInBy('read'))).toMatchObject({ status: 303, to: at('deployments') });
    const ingest = await open('/o', await signInBy('ingest'));
    expect([ingest.status, ingest.text]).toEqual([
      200,
      expect.stringContaining('scope ingest reads nothing'),
    ]);
  });
});

describe('the pages of a workspace', () => {
  it.each(PAGES)('asks for a key first: %s', async (_name, path) => {
    expect(await open(path(), '')).toMatchObject({
      status: 303,
      to: `/sign-in?to=${encodeURIComponent(path())}`,
    });
  });

  it.each(PAGES)(
    'stays hidden from other workspaces, by either tenant in the path: %s',
    async (_name, path) => {
      const stranger = await api.workspace();
      const theirs = await signIn(stranger.key);
      const paths = [path(), path().replace(tenant.tenantId, stranger.tenantId)];
      for (const one of paths) {
        const { status, text } = await open(one, theirs);
        expect([200, 404]).toContain(status);
        for (const secret of ['spoken', 'tradedesk', 'within 30 days', 'thread-1'])
          expect(text).not.toContain(secret);
      }
      expect((await open(path(), theirs)).status).toBe(404);
    },
  );

  it.each(PAGES)('opens to the scopes of the same route of REST: %s', async (name, path) => {
    const opens = async (scope: ChosenScope): Promise<boolean> => {
      const { text } = await open(path(), await signInBy(scope));
      return !text.includes('may not read it');
    };
    const isThere = !['a thread', 'an export'].includes(name);
    expect([await opens('read'), await opens('ingest'), await opens('invoke')]).toEqual([
      isThere,
      false,
      false,
    ]);
  });

  it('shows what is deployed, what was asked and answered, and where it leads', async () => {
    expect((await open(at('deployments'))).text).toContain(
      `<a href="${at('deployments', deploymentId)}">tradedesk</a>`,
    );
    const deployment = await open(at('deployments', deploymentId));
    expect(deployment.text).toContain('Calling the agent tradedesk failed: it does not serve yet');
    expect(deployment.text).toContain(`<a href="${at('projects', 'p', projectId)}">traces</a>`);
    const revision = randomUUID();
    const { items } = await api.client.list(RESOURCES.AgentDeployment, { namespace: tenant.namespace });
    const { name } = items[0]!.metadata;
    await makeRevision(api.client, tenant, { name, id: revision, number: 1 });
    const named = await waitFor(async () => {
      const { text } = await open(at('deployments', deploymentId));
      return text.includes(`${name}-00001`) && text;
    });
    expect(named).toContain(`data-text="${revision}"`);
    expect(named).not.toContain(`>${revision.slice(0, 8)}`);
    expect((await open(at('projects'))).text).toContain('tradedesk</a>');
    const project = await open(at('projects', 'p', projectId));
    expect(project.text).toContain('May I **return** &lt;b&gt;it&lt;/b&gt;?');
    expect(project.text).toContain(`<a href="${at('deployments', deploymentId)}">deployment tradedesk</a>`);
    const { text } = await open(at('projects', 'p', projectId, 'r', id));
    for (const part of [
      'spoken &lt;agent&gt;',
      'May I <strong>return</strong> &lt;b&gt;it&lt;/b&gt;?',
      '<li>within 30 days</li>',
      'kind &lt;words&gt;',
      'channel: mail',
      `<a href="${at('deployments', deploymentId, 'threads', 'thread-1')}">thread</a>`,
    ])
      expect(text).toContain(part);
  });

  it('shows the experiments of a dataset, or those that a client chose', async () => {
    const all = await open(at('datasets', datasetId));
    const [, id = ''] = /projects\/p\/([^"]+)">tradedesk try</.exec(all.text) ?? [];
    const chosen = async (ids: string) =>
      (await open(`${at('datasets', datasetId, 'compare')}?selectedSessions=${ids}`)).text;
    expect(await chosen(`${UNKNOWN},${id}`)).toContain('tradedesk try');
    expect(await chosen(UNKNOWN)).toContain('There are no experiments here');
  });

  it('filters traces, and reports what is wrong with a filter', async () => {
    const filtered = async (filter: string) =>
      (await open(`${at('projects', 'p', projectId)}?filter=${encodeURIComponent(filter)}`)).text;
    expect(await filtered('search("return")')).toContain('spoken');
    expect(await filtered('eq(status, "error")')).toContain('No trace meets the filter');
    const wrong = await filtered('eq(latencyy, "<1>")');
    expect(wrong).toContain('did you mean latency?');
    expect(wrong).toContain('value="eq(latencyy, &quot;&lt;1&gt;&quot;)"');
  });

  it('comes back after a sign-in with their filter', async () => {
    const path = `${at('projects', 'p', projectId)}?filter=eq(status%2C+%22error%22)`;
    const to = (await open(path, '')).to ?? '';
    expect(new URL(to, api.url).searchParams.get('to')).toBe(path);
    expect(await send('/sign-in', { key: tenant.key, to: path }, SAME)).toMatchObject({
      status: 303,
      to: path,
    });
  });
});

describe('the forms of the pages', () => {
  it.each(FORMS)(
    'refuses what comes from other sites, other workspaces, or without a session: %s',
    async (_name, path) => {
      const FOREIGN: readonly Record<string, string>[] = [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'http://127.0.0.1:1' },
      ];
      for (const headers of FOREIGN)
        expect((await send(path(), {}, { cookie: mine, ...headers })).status).toBe(403);
      expect(await send(path(), {}, SAME)).toMatchObject({ status: 303, to: '/sign-in?to=%2Fo' });
      const stranger = await api.workspace();
      const theirs = { ...SAME, cookie: await signIn(stranger.key) };
      for (const one of [path(), path().replace(tenant.tenantId, stranger.tenantId)])
        expect((await send(one, {}, theirs)).status).toBe(404);
      expect((await send(path(), {}, { ...SAME, cookie: await signInBy('read') })).status).toBe(404);
    },
  );

  it('shares a trace by a link that opens without a key, until it is ended', async () => {
    const path = at('projects', 'p', projectId, 'r', id);
    expect(await send(`${path}/share`)).toMatchObject({ status: 303, to: path });
    const [, link = ''] =
      /<a href="(\/public\/[^"]+\/r)">link for everyone/.exec((await open(path)).text) ?? [];
    expect((await open(link, '')).text).toContain('spoken');
    expect(await send(`${path}/unshare`)).toMatchObject({ status: 303, to: path });
    expect((await open(link, '')).status).toBe(404);
    expect((await open(path)).text).toContain('Share by a link');
  });

  it('reports that an agent does not serve yet', async () => {
    const { status, text } = await send(at('deployments', deploymentId, 'threads'));
    expect([status, text]).toEqual([503, expect.stringContaining('it does not serve yet')]);
  });

  it('takes messages as long as their box does, in any letters', async () => {
    const path = at('deployments', deploymentId, 'threads', UNKNOWN);
    expect(await send(path, { text: '語'.repeat(10_000) })).toMatchObject({ status: 503 });
    expect((await send(path, { text: 'x'.repeat(200_000) })).status).toBe(413);
  });

  it('takes a field for each call of a tool', async () => {
    const body = new URLSearchParams({ question: 'a' });
    for (const decision of ['approve', 'reject']) body.append('decision', decision);
    const init = { method: 'POST', redirect: 'manual' as const, headers: { ...SAME, cookie: mine }, body };
    const answer = await fetch(api.url + at('deployments', deploymentId, 'threads', UNKNOWN), init);
    expect(answer.status).toBe(503);
  });

  it('calls no agent at an address that its status made up', async () => {
    const { namespace } = tenant;
    const { items } = await api.client.list<AgentDeployment>(RESOURCES.AgentDeployment, { namespace });
    const name = items[0]?.metadata.name ?? '';
    const status = { url: `${api.url}/stolen` };
    await api.client.mergeStatus(RESOURCES.AgentDeployment, { namespace, name }, { status });
    expect((await send(at('deployments', deploymentId, 'threads'))).text).toContain('it does not serve yet');
  });
});
