import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { SECRETS } from '#lib/resources';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';

const PATH = '/v1/integrations/git_host';
const TOKEN = 'ghp-token-of-a-person';

describe('git integrations by REST', () => {
  const { api, tenant } = testApi();

  it('keeps the token in a Secret that no pod gets, and shows all but it', async () => {
    const made = await tenant.call('POST', PATH, {
      name: 'ours',
      host: 'Git.example.org:8443',
      token: TOKEN,
    });
    expect([made.status, made.json]).toEqual([
      201,
      { id: expect.any(String), name: 'ours', host: 'git.example.org:8443', has_webhook: false },
    ]);
    const second = await tenant.call('POST', PATH, { name: 'another', host: 'example.org', token: 'x' });
    const listed = await tenant.call('GET', `${PATH}/install`);
    expect(listed.json.map(({ name }: { name: string }) => name)).toEqual(['another', 'ours']);
    expect(listed.text).not.toContain(TOKEN);
    const secret = await api.client.get(SECRETS, { namespace: tenant.namespace, name: 'git-integrations' });
    expect(secret.type).toBe('agentplane.dev/git-integrations');
    const value = JSON.parse(Buffer.from(secret.data?.[made.json.id] ?? '', 'base64').toString());
    expect(value).toEqual({ name: 'ours', host: 'git.example.org:8443', token: TOKEN });
    expect((await tenant.call('DELETE', `${PATH}/${second.json.id}`)).status).toBe(204);
    expect((await tenant.call('DELETE', `${PATH}/${second.json.id}`)).status).toBe(404);
    expect((await tenant.call('GET', `${PATH}/install`)).json).toHaveLength(1);
  });

  it('has nothing for another workspace', async () => {
    const { json } = await tenant.call('POST', PATH, { name: 'mine', host: 'example.org', token: 'x' });
    const other = await api.workspace();
    expect((await other.call('GET', `${PATH}/install`)).json).toEqual([]);
    expect((await other.call('DELETE', `${PATH}/${json.id}`)).status).toBe(404);
    expect((await tenant.call('DELETE', `${PATH}/${randomUUID()}`)).status).toBe(404);
  });

  it.each([
    ['a host with a path', { host: 'example.org/a' }, 'body.host'],
    ['a token with a line break', { token: 'a\nb' }, 'body.token'],
    ['a certificate that is none', { ca_certificate: 'x' }, 'body.ca_certificate'],
    ['no token', { token: undefined }, 'body.token'],
  ])('refuses %s', async (_, wrong, field) => {
    const answer = await tenant.call('POST', PATH, { name: 'n', host: 'example.org', token: 'x', ...wrong });
    expect(answer.status).toBe(422);
    expect(problemsIn(answer)[0]).toContain(field);
  });

  it('lets new deployments of its workspace and host name one, and no other', async () => {
    const { json } = await tenant.call('POST', PATH, { name: 'gits', host: 'git.example.org', token: 'x' });
    const other = await api.workspace();
    const deploy = (who: typeof tenant, integration_id: string, host = 'git.example.org') =>
      who.call('POST', '/v2/deployments', {
        name: `git-${randomUUID()}`,
        source: 'git_host',
        secrets: [],
        source_config: { repo_url: `https://${host}/team/agent.git`, integration_id },
        source_revision_config: { graph_config_path: 'langgraph.json' },
      });
    const unknown = randomUUID();
    for (const [who, id] of [
      [tenant, unknown],
      [other, json.id],
    ] as const) {
      const answer = await deploy(who, id);
      expect([answer.status, answer.json.detail]).toEqual([400, `Integration with ID ${id} not found`]);
    }
    const elsewhere = await deploy(tenant, json.id, 'other.example.org');
    expect([elsewhere.status, elsewhere.json.detail]).toEqual([
      400,
      expect.stringMatching(/^Integration gits is for git.example.org, and the repository is at other/),
    ]);
    expect((await tenant.call('GET', '/v2/deployments')).json.resources).toEqual([]);
    expect((await deploy(tenant, json.id.toUpperCase(), 'Git.Example.org')).status).toBe(201);
  });

  it('refuses more than fit into a Secret', async () => {
    const full = await api.workspace();
    for (let made = 0; made < 50; made++)
      await full.call('POST', PATH, { name: `n${made}`, host: 'example.org', token: 'x' });
    const answer = await full.call('POST', PATH, { name: 'more', host: 'example.org', token: 'x' });
    expect([answer.status, answer.json.detail]).toEqual([409, expect.stringContaining('as many as it may')]);
  });
});
