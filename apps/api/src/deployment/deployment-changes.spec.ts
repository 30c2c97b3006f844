import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { RESOURCES, SECRETS } from '#lib/resources';
import { deploymentBody } from '../testdata/deployment-body.js';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';

const PATH = '/v2/deployments';

describe('changes of deployments at the same time', () => {
  const { tenant } = testApi();
  const create = async () => (await tenant.call('POST', PATH, deploymentBody())).json;

  it('answers with a tag that changes with what is asked for', async () => {
    const made = await tenant.call('POST', PATH, deploymentBody());
    const path = `${PATH}/${made.json.id}`;
    const [first, again] = [await tenant.call('GET', path), await tenant.call('GET', path)];
    expect([made.headers['etag'], first.headers['etag']]).toEqual(['"g1"', '"g1"']);
    expect(again.headers['etag']).toBe('"g1"');
    const changed = await tenant.call('PATCH', path, { min_ready_seconds: 7 });
    expect([changed.headers['etag'], changed.json.generation]).toEqual(['"g2"', 2]);
  });

  it.each([
    ['PATCH', '', { min_ready_seconds: 9 }],
    ['DELETE', '', undefined],
    ['POST', '/revisions', {}],
  ])('refuses %s%s of a version that is not the present one', async (method, suffix, body) => {
    const { id } = await create();
    await tenant.call('PATCH', `${PATH}/${id}`, { min_ready_seconds: 7 });
    const send = (tag: string) => tenant.call(method, `${PATH}/${id}${suffix}`, body, { 'if-match': tag });
    const stale = await send('"g1"');
    expect([stale.status, stale.json.detail]).toEqual([412, expect.stringContaining('"g2"')]);
    expect((await tenant.call('GET', `${PATH}/${id}`)).json).toMatchObject({
      status: 'AWAITING_DATABASE',
      min_ready_seconds: 7,
      generation: 2,
    });
    expect(problemsIn(await send('g2'))).toEqual(['header.If-Match value_error']);
    expect((await send('"g2"')).status).toBeLessThan(300);
  });

  it('lets one of many through that saw the same version', async () => {
    const { id } = await create();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        tenant.call('PATCH', `${PATH}/${id}`, { min_ready_seconds: n }, { 'if-match': '"g1"' }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(7);
  });
});

describe('Idempotency-Key of a new deployment', () => {
  const { api, tenant } = testApi();
  const secrets = [{ name: 'TOKEN', value: 'secret-value' }];

  it('makes one deployment of requests with one key, also at the same moment', async () => {
    const [body, key] = [deploymentBody({ secrets }), { 'idempotency-key': randomUUID() }];
    const answers = await Promise.all(Array.from({ length: 5 }, () => tenant.call('POST', PATH, body, key)));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
    const { name, id } = answers[0]?.json ?? {};
    expect((await tenant.call('POST', PATH, body)).status).toBe(409);
    const stored = await api.client.get(RESOURCES.AgentDeployment, { namespace: tenant.namespace, name });
    expect(stored.metadata.annotations?.['agentplane.dev/id']).toBe(id);
    expect(JSON.stringify(stored)).not.toContain(key['idempotency-key']);
  });

  it('refuses the key with another body, and what is no key', async () => {
    const key = { 'idempotency-key': randomUUID() };
    await tenant.call('POST', PATH, deploymentBody({ secrets }), key);
    const other = await tenant.call('POST', PATH, deploymentBody(), key);
    expect([other.status, other.json.detail]).toEqual([409, expect.stringContaining('another body')]);
    const wrong = await tenant.call('POST', PATH, deploymentBody(), { 'idempotency-key': 'a b' });
    expect(problemsIn(wrong)).toEqual(['header.Idempotency-Key value_error']);
  });

  it('writes the Secret that an interrupted first request left out', async () => {
    const [body, key] = [deploymentBody({ secrets }), { 'idempotency-key': randomUUID() }];
    const { json } = await tenant.call('POST', PATH, body, key);
    const at = { namespace: tenant.namespace, name: json.name };
    const secret = (await api.client.get(RESOURCES.AgentDeployment, at)).spec.secretsRef?.name ?? '';
    await api.client.delete(SECRETS, { ...at, name: secret });
    const again = await tenant.call('POST', PATH, body, key);
    expect([again.json.id, again.json.secrets]).toEqual([json.id, [{ name: 'TOKEN', value: '' }]]);
    expect((await api.client.get(SECRETS, { ...at, name: secret })).data).toHaveProperty('TOKEN');
  });
});

describe('revisions and deletions by REST', () => {
  const { tenant, api } = testApi();
  const create = async () => (await tenant.call('POST', PATH, deploymentBody())).json;

  it('makes a revision of what the deployment is, or of what is changed with it', async () => {
    const made = await create();
    const path = `${PATH}/${made.id}`;
    const same = await tenant.call('POST', `${path}/revisions`, {});
    expect([same.status, same.json]).toEqual([
      201,
      expect.objectContaining({ status: 'CREATING', source: 'internal_image' }),
    ]);
    expect(same.json.id).not.toBe(made.latest_revision_id);
    expect((await tenant.call('GET', path)).json.latest_revision_id).toBe(same.json.id);
    const other = await tenant.call('POST', `${path}/revisions`, {
      source_revision_config: { image_uri: 'another' },
      secrets: [{ name: 'A', value: '1' }],
    });
    expect(other.json.source_revision_config.image_uri).toBe('another');
    const { source_revision_config, secrets } = (await tenant.call('GET', path)).json;
    expect([source_revision_config.image_uri, secrets]).toEqual(['another', [{ name: 'A', value: '' }]]);
    expect((await tenant.call('POST', `${PATH}/${randomUUID()}/revisions`, {})).status).toBe(404);
    const misplaced = await tenant.call('POST', `${path}/revisions`, { image_uri: 'x' });
    expect(misplaced.headers['warning']).toContain('image_uri');
  });

  it('deletes the deployments that are named, and names those that do not exist', async () => {
    const [one, two, kept] = [await create(), await create(), await create()];
    const missing = randomUUID();
    const other = await api.workspace();
    const ids = [one.id, String(two.id).toUpperCase(), missing, one.id].join(',');
    expect((await other.call('DELETE', `${PATH}?deployment_ids=${ids}`)).json.deleted).toEqual([]);
    const answer = await tenant.call('DELETE', `${PATH}?deployment_ids=${ids}`);
    expect([answer.status, answer.json]).toEqual([200, { deleted: [one.id, two.id], not_found: [missing] }]);
    for (const { id } of [one, two]) expect((await tenant.call('GET', `${PATH}/${id}`)).status).toBe(404);
    expect((await tenant.call('GET', `${PATH}/${kept.id}`)).status).toBe(200);
    for (const query of ['', '?deployment_ids=', '?name_contains=a'])
      expect((await tenant.call('DELETE', `${PATH}${query}`)).status).toBe(422);
  });
});
