import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { MAX_LISTENERS, RESOURCES } from '#lib/resources';
import { deploymentBody } from '../testdata/deployment-body.js';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';

const PATH = '/v2/listeners';
const REMOTE = { api_url: 'https://agents.example.org' };

describe('listeners by REST', () => {
  const { api, tenant } = testApi();
  let made = 0;
  const create = async (body: object = {}) => {
    const answer = await tenant.call('POST', PATH, {
      compute_id: `cluster-${++made}`,
      remote: REMOTE,
      ...body,
    });
    expect([answer.status, answer.status === 201 ? '' : answer.text]).toEqual([201, '']);
    return answer.json;
  };

  it('makes a remote listener, shows it, changes it and deletes it', async () => {
    const one = await create({ compute_config: { cluster_namespaces: ['agents', 'more'] } });
    expect(one).toMatchObject({
      name: 'cluster-1',
      compute_type: 'cluster',
      compute_id: 'cluster-1',
      compute_config: { cluster_namespaces: ['agents', 'more'] },
      remote: REMOTE,
      is_ready: false,
      version: null,
    });
    expect((await tenant.call('GET', `${PATH}/${one.id}`)).json).toEqual(one);
    const stored = await api.client.get(RESOURCES.Listener, { namespace: tenant.namespace, name: one.name });
    expect(stored.spec).toMatchObject({ namespaces: ['agents', 'more'], remote: { apiUrl: REMOTE.api_url } });
    const patched = await tenant.call('PATCH', `${PATH}/${one.id}`, {
      compute_id: 'cluster-1',
      compute_config: { cluster_namespaces: ['agents'] },
      remote: { api_url: 'https://moved.example.org' },
    });
    expect(patched.json).toMatchObject({
      compute_config: { cluster_namespaces: ['agents'] },
      remote: { api_url: 'https://moved.example.org' },
    });
    expect((await tenant.call('DELETE', `${PATH}/${one.id}`)).status).toBe(204);
    expect((await tenant.call('GET', `${PATH}/${one.id}`)).status).toBe(404);
  });

  it('refuses names and compute ids that are taken', async () => {
    const one = await create();
    const named = await tenant.call('POST', PATH, { compute_id: 'other', name: one.name });
    expect([named.status, named.json.detail]).toEqual([409, `A listener named ${one.name} already exists`]);
    const same = await tenant.call('POST', PATH, { compute_id: one.compute_id, name: 'other' });
    expect([same.status, same.json.detail]).toEqual([
      409,
      `The compute id ${one.compute_id} is used by listener ${one.name}`,
    ]);
  });

  it.each([
    [
      'a namespace of others for a listener of this cluster',
      { remote: null, compute_config: { cluster_namespaces: ['kube-system'] } },
      'body.compute_config.cluster_namespaces',
    ],
    [
      'no namespaces at all',
      { compute_config: { cluster_namespaces: [] } },
      'body.compute_config.cluster_namespaces',
    ],
    ['another compute type', { compute_type: 'machine' }, 'body.compute_type'],
    ['an address that is none', { remote: { api_url: 'agents.example.org' } }, 'body.remote.api_url'],
    ['a remote listener without the address of this interface', { remote: {} }, 'body.remote.api_url'],
    ['a name that is no label', { name: 'A b' }, 'body.name'],
  ])('refuses %s', async (_, wrong, field) => {
    const answer = await tenant.call('POST', PATH, { compute_id: 'wrong', remote: REMOTE, ...wrong });
    expect(answer.status).toBe(422);
    expect(problemsIn(answer)[0]).toContain(field);
  });

  it('refuses changes of immutable fields', async () => {
    const { id } = await create();
    const local = await create({ remote: null });
    for (const [path, body, field] of [
      [id, { compute_id: 'another' }, 'body.compute_id'],
      [local.id, { remote: REMOTE }, 'body.remote'],
    ]) {
      const answer = await tenant.call('PATCH', `${PATH}/${path}`, body);
      expect([answer.status, problemsIn(answer)[0]]).toEqual([422, expect.stringContaining(field)]);
    }
  });

  it('deploys into a namespace of the remote listener that is named, and no other', async () => {
    const { id, name } = await create({ compute_config: { cluster_namespaces: ['agents', 'more'] } });
    const deploy = (cluster_namespace: string) =>
      tenant.call(
        'POST',
        '/v2/deployments',
        deploymentBody({
          source: 'external_image',
          source_config: { listener_id: id, listener_config: { cluster_namespace } },
          source_revision_config: { image_uri: 'registry/x:1' },
        }),
      );
    const refused = await deploy('kube-system');
    expect(refused.status).toBe(422);
    expect(problemsIn(refused)[0]).toContain('body.source_config.listener_config.cluster_namespace');
    expect(refused.text).toContain(`listener ${name} works in agents, more`);
    const taken = await deploy('more');
    expect(taken.json.source_config.listener_config).toMatchObject({ cluster_namespace: 'more' });
  });

  it('keeps a listener that carries out deployments, and names them', async () => {
    const { id, name } = await create();
    const body = deploymentBody({
      source: 'external_image',
      source_config: { listener_id: id },
      source_revision_config: { image_uri: 'registry/x:1' },
    });
    const deployment = (await tenant.call('POST', '/v2/deployments', body)).json;
    const kept = await tenant.call('DELETE', `${PATH}/${id}`);
    expect([kept.status, kept.json.detail]).toEqual([
      409,
      `Listener ${name} carries out ${deployment.name}: delete these deployments first`,
    ]);
    await tenant.call('DELETE', `/v2/deployments/${deployment.id}`);
    expect((await tenant.call('DELETE', `${PATH}/${id}`)).status).toBe(204);
  });

  it('has nothing for another workspace', async () => {
    const { id } = await create();
    const other = await api.workspace();
    for (const [method, body] of [['GET'], ['PATCH', {}], ['DELETE']] as const)
      expect((await other.call(method, `${PATH}/${id}`, body)).status).toBe(404);
    expect((await tenant.call('DELETE', `${PATH}/${randomUUID()}`)).status).toBe(404);
  });

  it('refuses more than a workspace may have', async () => {
    const full = await api.workspace();
    for (let one = 0; one < MAX_LISTENERS; one++)
      await full.call('POST', PATH, { compute_id: `c-${one}`, remote: REMOTE });
    const answer = await full.call('POST', PATH, { compute_id: 'more', remote: REMOTE });
    expect([answer.status, answer.json.detail]).toEqual([409, expect.stringContaining('as many as it may')]);
  });
});
