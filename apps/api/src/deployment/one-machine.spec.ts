import { describe, expect, it } from '@jest/globals';
import { RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { deploymentBody } from '../testdata/deployment-body.js';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';

const PULLED = { source: 'external_image', source_revision_config: { image_uri: 'registry.example/a:1' } };
const OWN = { source: 'external_image', source_revision_config: { image_uri: 'local/a' } };
const withVolume = (volume: object) => ({
  resource_spec: {
    volumes: [
      { name: 'scratch', emptyDir: {} },
      { name: 'v', ...volume },
    ],
  },
});
const OF_CLUSTERS: readonly (readonly [string, object])[] = [
  ['nfs', { nfs: { server: 'files.example', path: '/' } }],
  ['csi', { csi: { driver: 'files.example' } }],
  ['persistentVolumeClaim', { persistentVolumeClaim: { claimName: 'c' } }],
];

describe('a request for a deployment on one machine', () => {
  const { api, tenant } = testApi();

  const post = (over: object) => tenant.call('POST', '/v2/deployments', deploymentBody(over));
  const farListener = async (): Promise<string> => {
    await api.client.create(RESOURCES.Listener, {
      metadata: { namespace: tenant.namespace, name: 'far' },
      spec: { computeType: 'cluster', computeId: 'far', remote: { apiUrl: 'https://far.example' } },
    });
    return waitFor(async () => (await tenant.call('GET', '/v2/listeners')).json.resources[0]?.id as string);
  };

  it('refuses an image that would have to be pulled, and says what to do', async () => {
    const answer = await post(PULLED);
    expect([answer.status, problemsIn(answer)]).toEqual([
      422,
      ['body.source_revision_config.image_uri value_error'],
    ]);
    expect(answer.json.detail[0].msg).toMatch(/registry.example\/a:1 .*"agentplane image add NAME FOLDER"/);
    const { json: made } = await post(OWN);
    const { source_revision_config } = PULLED;
    for (const [method, path] of [
      ['PATCH', `/v2/deployments/${made.id}`],
      ['POST', `/v2/deployments/${made.id}/revisions`],
    ] as const) {
      const changed = await tenant.call(method, path, { source_revision_config });
      expect([changed.status, problemsIn(changed)]).toEqual([422, problemsIn(answer)]);
    }
  });

  it.each(OF_CLUSTERS)('refuses a volume of %s', async (type, volume) => {
    const answer = await post({ source_config: withVolume(volume) });
    expect([answer.status, problemsIn(answer)]).toEqual([
      422,
      [`body.source_config.resource_spec.volumes.1.${type} value_error`],
    ]);
    const { json: made } = await post({});
    const source_config = withVolume(volume);
    const changed = await tenant.call('PATCH', `/v2/deployments/${made.id}`, { source_config });
    expect([changed.status, problemsIn(changed)]).toEqual([422, problemsIn(answer)]);
  });

  it('warns of Secrets of registries, which nothing is pulled with', async () => {
    const source_config = { resource_spec: { image_pull_secrets: [{ name: 'registry' }] } };
    const made = await post({ source_config });
    expect(made.headers.warning).toMatch(/^299 - "image_pull_secrets has no effect: agents of one/);
  });

  it('takes all of it for a listener of another cluster', async () => {
    const listener_id = await farListener();
    for (const [, volume] of OF_CLUSTERS) {
      const config = withVolume(volume);
      const resource_spec = { ...config.resource_spec, image_pull_secrets: [{ name: 'registry' }] };
      const made = await post({ ...PULLED, source_config: { listener_id, resource_spec } });
      expect([made.status, made.headers.warning]).toEqual([201, undefined]);
      const path = `/v2/deployments/${made.json.id}`;
      const changed = await tenant.call('PATCH', path, {
        source_config: config,
        source_revision_config: { image_uri: 'registry.example/a:2' },
      });
      expect(changed.status).toBe(200);
    }
  });
});

describe('a request for a deployment on a cluster', () => {
  const { tenant } = testApi({ addresses: 'cluster-dns' });

  it('takes images of registries and volumes of clusters', async () => {
    const source_config = withVolume({ nfs: { server: 'files.example', path: '/' } });
    const made = await tenant.call('POST', '/v2/deployments', deploymentBody({ ...PULLED, source_config }));
    expect(made.status).toBe(201);
  });
});
