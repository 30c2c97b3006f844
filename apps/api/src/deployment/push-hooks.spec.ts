import { createHmac, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { ANNOTATION, RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

const PATH = '/v1/integrations/git_host';
const REPOSITORY = 'https://git.example.org/team/Agent.git';
const SECRET = 'a-secret-of-sixteen-or-more';

const hmac = (body: string, secret = SECRET): string =>
  createHmac('sha256', secret).update(body).digest('hex');
const push = (ref = 'refs/heads/main', more: object = {}): object => ({
  ref,
  after: 'f'.repeat(40),
  repository: { clone_url: 'https://GIT.example.org/team/Agent', full_name: 'team/agent' },
  ...more,
});

describe('webhooks of git hosts', () => {
  const { api, tenant } = testApi();
  let id: string;
  let url: string;

  beforeAll(async () => {
    const made = await tenant.call('POST', PATH, { name: 'ours', host: 'git.example.org', token: 'x' });
    id = made.json.id;
    const opened = await tenant.call('PUT', `${PATH}/${id}/webhook`, { secret: SECRET });
    expect([opened.status, opened.json]).toEqual([
      200,
      { url: expect.stringContaining(api.url), secret: SECRET },
    ]);
    url = opened.json.url;
    await deploy('main-branch', { repo_ref: 'main' });
    await deploy('default-branch', {});
    await deploy('other-branch', { repo_ref: 'other' });
    await deploy('not-followed', { repo_ref: 'main' }, { build_on_push: false });
    await deploy('other-repository', {}, { repo_url: 'https://git.example.org/team/other.git' });
  });

  const deploy = async (name: string, revision: object, config: object = {}): Promise<void> => {
    const answer = await tenant.call('POST', '/v2/deployments', {
      name,
      source: 'git_host',
      secrets: [],
      source_config: { repo_url: REPOSITORY, integration_id: id, build_on_push: true, ...config },
      source_revision_config: { graph_config_path: 'langgraph.json', ...revision },
    });
    expect([answer.status, answer.json]).toEqual([201, expect.anything()]);
  };
  const call = async (headers: Record<string, string>, body: string, to = url) => {
    const type = { 'content-type': 'application/json' };
    const answer = await fetch(to, { method: 'POST', headers: { ...type, ...headers }, body });
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
  };
  const heard = async (): Promise<Record<string, string | undefined>> => {
    const { items } = await api.client.list(RESOURCES.AgentDeployment, { namespace: tenant.namespace });
    return Object.fromEntries(
      items.map(({ metadata }) => [metadata.name, metadata.annotations?.[ANNOTATION.pushHeard]]),
    );
  };

  it.each<[string, (body: string) => Record<string, string>, object?]>([
    ['GitHub', (body) => ({ 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${hmac(body)}` })],
    ['Gitea', (body) => ({ 'x-gitea-event': 'push', 'x-gitea-signature': hmac(body) })],
    ['Forgejo', (body) => ({ 'x-forgejo-event': 'push', 'x-forgejo-signature': hmac(body) })],
    [
      'GitLab',
      () => ({ 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': SECRET }),
      { repository: undefined, project: { git_http_url: REPOSITORY } },
    ],
  ])('wakes the deployments that follow the branch, signed as %s does', async (host, headers, more = {}) => {
    const body = JSON.stringify(push('refs/heads/main', { by: host, ...more }));
    const repeated = { ...headers(body), 'x-github-delivery': randomUUID() };
    expect(await call(repeated, body)).toEqual({ status: 202, json: { woken: 2 } });
    const mark = await waitFor(async () => (await heard())['main-branch']);
    expect(await heard()).toEqual({
      'main-branch': mark,
      'default-branch': mark,
      'other-branch': undefined,
      'not-followed': undefined,
      'other-repository': undefined,
    });
    expect(await call(repeated, body)).toEqual({ status: 202, json: { woken: 2 } });
    expect((await heard())['main-branch']).toBe(mark);
    // another push may have the same body
    expect(await call(headers(body), body)).toEqual({ status: 202, json: { woken: 2 } });
    await waitFor(async () => (await heard())['main-branch'] !== mark);
  });

  it('takes a form, the default of GitHub', async () => {
    const body = new URLSearchParams({ payload: JSON.stringify(push()) }).toString();
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-github-event': 'push',
      'x-hub-signature-256': `sha256=${hmac(body)}`,
    };
    expect(await call(headers, body)).toEqual({ status: 202, json: { woken: 2 } });
  });

  it.each<[string, string, object]>([
    ['a tag', 'push', push('refs/tags/v1')],
    ['a branch that was deleted', 'push', push('refs/heads/main', { after: '0'.repeat(40) })],
    ['another event', 'issues', push()],
    ['a ping', 'ping', { zen: 'x' }],
    ['another repository', 'push', push('refs/heads/main', { repository: { clone_url: 'https://a.b/c' } })],
  ])('wakes nothing for %s', async (_case, event, payload) => {
    const body = JSON.stringify(payload);
    const headers = { 'x-github-event': event, 'x-hub-signature-256': `sha256=${hmac(body)}` };
    expect(await call(headers, body)).toEqual({ status: 202, json: { woken: 0 } });
  });

  it('answers everything that does not fit alike', async () => {
    const body = JSON.stringify(push());
    const right = { 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${hmac(body)}` };
    const second = await tenant.call('POST', PATH, { name: 'silent', host: 'git.example.org', token: 'x' });
    const other = await api.workspace();
    const refused = await Promise.all([
      call({ ...right, 'x-hub-signature-256': `sha256=${hmac(body, 'another secret')}` }, body),
      call({ 'x-github-event': 'push' }, body),
      call({ 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': '' }, body),
      call(right, `${body} `),
      call(right, body, url.replace(id, randomUUID())),
      call(right, body, url.replace(id, second.json.id)),
      call(right, body, url.replace(tenant.tenantId, other.tenantId)),
      call(right, body, url.replace(tenant.tenantId, randomUUID())),
    ]);
    const one = { status: 401, json: { detail: 'The webhook is not known, or its signature is wrong' } };
    expect(refused).toEqual(refused.map(() => one));
  });

  it('reads an address of a megabyte of slashes', async () => {
    const repository = { clone_url: `https://git.example.org${'/'.repeat(1_000_000)}x` };
    const body = JSON.stringify(push('refs/heads/main', { repository }));
    const answer = await call(
      { 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${hmac(body)}` },
      body,
    );
    expect([answer.status, answer.json]).toEqual([202, { woken: 0 }]);
  });

  it('refuses a body that is too large', async () => {
    const body = JSON.stringify({ ...push(), more: 'x'.repeat(1_100_000) });
    const { status } = await call(
      { 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${hmac(body)}` },
      body,
    );
    expect(status).toBe(413);
  });

  it('replaces and forgets the secret, and shows it once', async () => {
    const made = await tenant.call('PUT', `${PATH}/${id}/webhook`, {});
    expect(made.json.secret).toMatch(/^[\w-]{43}$/);
    const body = JSON.stringify(push());
    const headers = (secret: string) => ({
      'x-github-event': 'push',
      'x-hub-signature-256': `sha256=${hmac(body, secret)}`,
    });
    expect((await call(headers(SECRET), body)).status).toBe(401);
    expect((await call(headers(made.json.secret), body)).status).toBe(202);
    const listed = await tenant.call('GET', `${PATH}/install`);
    expect(listed.text).not.toContain(made.json.secret);
    const ours = (all: { id: string; has_webhook: boolean }[]) =>
      all.find((one) => one.id === id)?.has_webhook;
    expect(ours(listed.json)).toBe(true);
    expect((await tenant.call('DELETE', `${PATH}/${id}/webhook`)).status).toBe(204);
    expect(ours((await tenant.call('GET', `${PATH}/install`)).json)).toBe(false);
    expect((await call(headers(made.json.secret), body)).status).toBe(401);
    expect((await tenant.call('PUT', `${PATH}/${randomUUID()}/webhook`, {})).status).toBe(404);
  });

  it('bounds how many pushes an integration announces', async () => {
    const { json } = await tenant.call('PUT', `${PATH}/${id}/webhook`, {});
    const body = JSON.stringify({ zen: 'x' });
    const headers = { 'x-github-event': 'ping', 'x-hub-signature-256': `sha256=${hmac(body, json.secret)}` };
    const answers = await Promise.all(Array.from({ length: 100 }, () => call(headers, body)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202, 429]));
  });
});
