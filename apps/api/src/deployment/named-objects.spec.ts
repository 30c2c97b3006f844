import { beforeAll, describe, expect, it } from '@jest/globals';
import { RESOURCES, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { deploymentBody } from '../testdata/deployment-body.js';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';

const SPEC = 'body.source_config.resource_spec';

describe('a request that names Secrets and claims for its pods', () => {
  const { api, tenant } = testApi({ addresses: 'cluster-dns' });

  const withSpec = (resource_spec: object, more: object = {}) =>
    deploymentBody({ source_config: { ...more, resource_spec } });
  const post = (resource_spec: object, more: object = {}) =>
    tenant.call('POST', '/v2/deployments', withSpec(resource_spec, more));
  const secretVolume = (secretName: string) => ({ volumes: [{ name: 'v', secret: { secretName } }] });
  const sidecar = (more: object) => ({ sidecars: [{ name: 's', image: 'i', ...more }] });
  const REF = { name: 'A', valueFrom: { secretKeyRef: { name: 'shop-platform', key: 'k' } } };

  beforeAll(async () => {
    const shop = await tenant.call('POST', '/v2/deployments', deploymentBody({ name: 'shop' }));
    expect(shop.status).toBe(201);
    const metadata = { namespace: tenant.namespace, name: 'my-credentials' };
    await api.client.create(SECRETS, { metadata, type: 'Opaque', data: {} });
  });

  it.each<[string, object, string, string]>([
    ['a volume', secretVolume('shop-database'), 'volumes.0', 'Secret shop-database belongs to the platform'],
    ['a variable', sidecar({ env: [REF] }), 'sidecars.0', 'Secret shop-platform belongs to the platform'],
    [
      'all variables',
      { init_containers: [{ name: 'i', image: 'i', envFrom: [{ secretRef: { name: 'shop-platform' } }] }] },
      'init_containers.0',
      'Secret shop-platform belongs to the platform',
    ],
    [
      'a name that may become the platform’s',
      secretVolume('later-credentials'),
      'volumes.0',
      'Secret later-credentials does not exist, and the platform gives such names to Secrets of its own',
    ],
    [
      'the volume of a Postgres server',
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'shop-postgres' } }] },
      'volumes.0',
      'PersistentVolumeClaim shop-postgres belongs to the platform',
    ],
    [
      'the volume of a Postgres server to come',
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'later-postgres' } }] },
      'volumes.0',
      'the name later-postgres is one that the platform gives to a PersistentVolumeClaim of its own',
    ],
  ])('refuses %s', async (_what, spec, place, message) => {
    const answer = await post(spec);
    expect([answer.status, problemsIn(answer)]).toEqual([422, [`${SPEC}.${place} value_error`]]);
    expect(answer.json.detail[0].msg).toContain(message);
    const { json: made } = await post({});
    const { source_config } = withSpec(spec) as { source_config: object };
    const changed = await tenant.call('PATCH', `/v2/deployments/${made.id}`, { source_config });
    expect([changed.status, problemsIn(changed)]).toEqual([422, problemsIn(answer)]);
  });

  it('refuses more Secrets than are looked at', async () => {
    const volumes = Array.from({ length: 32 }, (_volume, n) => ({
      name: `v${n}`,
      projected: { sources: ['a', 'b', 'c', 'd'].map((part) => ({ secret: { name: `s${n}${part}` } })) },
    }));
    const answer = await post({ volumes });
    expect([answer.status, answer.json.detail[0].msg]).toEqual([
      422,
      'the resource spec names 128 Secrets; name 100 at most',
    ]);
  });

  it('takes Secrets of users, and those that pods of the deployment have already', async () => {
    for (const name of ['words', 'my-credentials']) expect((await post(secretVolume(name))).status).toBe(201);
    const own = deploymentBody({
      name: 'own',
      source_config: { resource_spec: secretVolume('own-database') },
    });
    expect((await tenant.call('POST', '/v2/deployments', own)).status).toBe(201);
  });

  it('judges by the names of another cluster where pods run there', async () => {
    await api.client.create(RESOURCES.Listener, {
      metadata: { namespace: tenant.namespace, name: 'far' },
      spec: { computeType: 'cluster', computeId: 'far', remote: { apiUrl: 'https://far.example' } },
    });
    const listener_id = await waitFor(
      async () => (await tenant.call('GET', '/v2/listeners')).json.resources[0]?.id as string,
    );
    const of = { ...deploymentBody({}), source: 'external_image' };
    const on = (name: string) => ({
      ...of,
      name: `far-${name}`,
      source_revision_config: { image_uri: 'registry.example/a:1' },
      source_config: { listener_id, resource_spec: secretVolume(name) },
    });
    const send = (name: string) => tenant.call('POST', '/v2/deployments', on(name));
    expect((await send('their-credentials')).status).toBe(201);
    const answer = await send('their-platform');
    expect([answer.status, answer.json.detail[0].msg]).toEqual([
      422,
      'the name their-platform is one that the platform gives to a Secret of its own; choose another',
    ]);
  });
});
