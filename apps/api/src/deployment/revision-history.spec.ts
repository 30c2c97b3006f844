import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { ANNOTATION, REASON, RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { deploymentBody } from '../testdata/deployment-body.js';
import { makeRevision } from '../testdata/make-revision.js';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';

describe('the revisions of a deployment', () => {
  const { api, tenant } = testApi();

  async function make(): Promise<{ readonly name: string; readonly id: string; readonly path: string }> {
    const { json } = await tenant.call('POST', '/v2/deployments', deploymentBody());
    return { name: json.name, id: json.latest_revision_id, path: `/v2/deployments/${json.id}/revisions` };
  }
  const has = (path: string, id: string, status: string) =>
    waitFor(async () => (await tenant.call('GET', `${path}/${id}`)).json.status === status);

  it('counts those that are not kept any more, also where an id is not found', async () => {
    const { name, id, path } = await make();
    const unknown = randomUUID();
    const before = await tenant.call('GET', `${path}/${unknown}`);
    expect([before.status, before.json.detail]).toEqual([404, `Revision with ID ${unknown} not found`]);
    expect((await tenant.call('GET', path)).json.removed).toBe(0);
    await makeRevision(api.client, tenant, { name, id, number: 4 });
    const newest = randomUUID();
    await makeRevision(api.client, tenant, { name, id: newest, number: 5 });
    await has(path, newest, 'CREATING');
    const listed = (await tenant.call('GET', path)).json;
    expect([listed.resources.map((one: { id: string }) => one.id), listed.removed]).toEqual([
      [newest, id],
      3,
    ]);
    const detail =
      `Revision with ID ${unknown} not found; 3 earlier revisions are not kept any more, ` +
      'past the limit of the archive or from before there was one';
    for (const answer of [
      await tenant.call('GET', `${path}/${unknown}`),
      await tenant.call('POST', `${path}/${unknown}/redeploy`),
    ])
      expect([answer.status, answer.json.detail]).toEqual([404, detail]);
  });

  /** Archives a revision as the controller does. */
  async function archive(
    { path, name }: { readonly path: string; readonly name: string },
    number: number,
    more: { readonly spec?: object; readonly status?: object; readonly outputs?: object } = {},
  ): Promise<string> {
    const id = randomUUID();
    const deploymentId = path.split('/')[3] ?? '';
    const revision = {
      metadata: {
        name: `${name}-0000${number}`,
        creationTimestamp: '2026-01-02T00:00:00Z',
        annotations: { [ANNOTATION.id]: id },
      },
      spec: { source: 'internal_image', imageUri: 'sample-agent', number, ...more.spec },
      status: { ...more.status, conditions: [FAILED, { ...FAILED, type: 'Ready', status: 'False' }] },
    };
    const row = { id, number, status: 'DEPLOY_FAILED', object: JSON.stringify(revision) };
    const outputs = more.outputs && JSON.stringify([more.outputs]);
    await api.store.revisionArchive.store({ tenantId: tenant.tenantId, deploymentId }, row, outputs);
    return id;
  }
  const FAILED = {
    type: 'Failed',
    status: 'True',
    reason: 'GraphLoadFailed',
    message: 'no such file',
    lastTransitionTime: '2026-01-02T00:00:09Z',
  };

  it('has those of the archive too, each once, newest first, by page and by status', async () => {
    const made = await make();
    const { name, id, path } = made;
    // the oldest serves still, so it is not archived
    await makeRevision(api.client, tenant, { name, id, number: 1 });
    const archived: string[] = [];
    for (const number of [2, 3, 4]) archived.unshift(await archive(made, number));
    const newest = randomUUID();
    await makeRevision(api.client, tenant, { name, id: newest, number: 5 });
    await has(path, newest, 'CREATING');
    const owner = { tenantId: tenant.tenantId, deploymentId: path.split('/')[3] ?? '' };
    // stored, and not deleted yet
    await api.store.revisionArchive.store(
      owner,
      { id: newest, number: 5, status: 'SKIPPED', object: '{}' },
      undefined,
    );
    const all = [newest, ...archived, id];
    const ids = async (query: string): Promise<readonly string[]> =>
      (await tenant.call('GET', `${path}?${query}`)).json.resources.map((one: { id: string }) => one.id);
    const { resources, removed } = (await tenant.call('GET', path)).json;
    expect([resources.map((one: { id: string }) => one.id), removed]).toEqual([all, 0]);
    expect(resources.map((one: { archived: boolean }) => one.archived)).toEqual([
      false,
      true,
      true,
      true,
      false,
    ]);
    const paged: (readonly string[])[] = [];
    for (let offset = 0; offset < all.length + 2; offset += 2)
      paged.push(await ids(`limit=2&offset=${offset}`));
    expect(paged.flat()).toEqual(all);
    expect(await ids('limit=3&offset=1')).toEqual(all.slice(1, 4));
    expect(await ids('status=DEPLOY_FAILED')).toEqual(archived);
    expect(await ids('status=SKIPPED')).toEqual([]);
    expect(await ids('status=DEPLOY_FAILED&limit=1&offset=1')).toEqual(archived.slice(1, 2));
    const [one = ''] = archived;
    expect((await tenant.call('GET', `${path}/${one.toUpperCase()}`)).json).toMatchObject({
      id: one,
      archived: true,
      status: 'DEPLOY_FAILED',
      status_reason: 'GraphLoadFailed',
      created_at: '2026-01-02T00:00:00Z',
      updated_at: '2026-01-02T00:00:09Z',
      source: 'internal_image',
      source_revision_config: { image_uri: 'sample-agent' },
    });
    const other = await api.workspace();
    expect((await other.call('GET', `${path}/${one}`)).status).toBe(404);
    const stranger = await make();
    expect((await tenant.call('GET', `${stranger.path}/${one}`)).status).toBe(404);
  });

  it('shows what a revision in the archive printed last', async () => {
    const made = await make();
    const outputs = {
      metadata: { name: `${made.name}-00001-output`, annotations: { [ANNOTATION.pod]: 'pod-1' } },
      data: { 'agent.log': '2026-01-02T00:00:08Z no model' },
    };
    const id = await archive(made, 1, { outputs });
    const logs = async (of: string): Promise<string> =>
      (await tenant.call('GET', `${made.path}/${of}/logs`)).text;
    expect(await logs(id)).toContain('no model');
    expect(await logs(await archive(made, 2))).toContain('no output is kept');
  });

  it('deploys one of the archive again by its image, with the present variables', async () => {
    const made = await make();
    const { name, id, path } = made;
    await makeRevision(api.client, tenant, { name, id, number: 9 });
    const key = { namespace: tenant.namespace, name };
    const { spec: before } = await api.client.get(RESOURCES.AgentDeployment, key);
    const image = 'local/sample-agent@sha256:abc';
    const old = await archive(made, 1, { spec: { resourceSpec: { cpu: 2 } }, status: { image } });
    const answer = await tenant.call('POST', `${path}/${old}/redeploy`);
    expect(answer.status).toBe(200);
    expect(answer.json.source_revision_config.image_uri).toBe(image);
    const { spec } = await api.client.get(RESOURCES.AgentDeployment, key);
    expect(spec.revisionRequest).toEqual({ id: answer.json.latest_revision_id, at: expect.any(String) });
    expect(spec.sourceConfig.resourceSpec).toEqual({ cpu: 2 });
    expect(spec.secretsRef).toEqual(before.secretsRef);
  });

  it.each<[string, object, string]>([
    [
      'was built from git',
      {
        source: 'git_host',
        imageUri: undefined,
        git: { repoUrl: 'u', repoRef: 'main', graphConfigPath: 'g' },
      },
      'the image of its build is not kept; request a new revision from repo_ref main',
    ],
    [
      'ran an image of another cluster',
      { placeNamespace: 'there' },
      'it ran in another cluster; request a new revision',
    ],
    [
      'had another source',
      { source: 'external_image', imageUri: 'registry.example/other:1' },
      'its source was external_image, and that of the deployment is internal_image; request a new revision',
    ],
    [
      'had a resource spec that the archive has not',
      { resourceSpec: null },
      'its resource spec was too large for the archive; request a new revision',
    ],
  ])('refuses to deploy one of the archive again that %s', async (_, spec, because) => {
    const made = await make();
    const old = await archive(made, 1, { spec });
    const { status, json } = await tenant.call('POST', `${made.path}/${old}/redeploy`);
    const detail = `Revision with ID ${old} is archived and cannot be deployed again: ${because}`;
    expect([status, json.detail]).toEqual([400, detail]);
  });

  it.each<[string, object, string]>([
    ['QUEUED', { type: 'Built', status: 'Unknown', reason: REASON.buildQueued }, 'waits for its turn'],
    ['INTERRUPTED', { type: 'Ready', status: 'False', reason: REASON.suspended }, 'is suspended'],
  ])(
    'shows one that is %s with the reason, and finds it by that status',
    async (status, condition, message) => {
      const { name, id, path } = await make();
      await makeRevision(api.client, tenant, { name, id, number: 1 });
      const lastTransitionTime = '2026-11-20T00:00:00Z';
      await api.client.mergeStatus(
        RESOURCES.AgentRevision,
        { namespace: tenant.namespace, name: `${name}-00001` },
        { status: { conditions: [{ ...condition, message, lastTransitionTime }] } } as never,
      );
      await has(path, id, status);
      const found = async (wanted: string) =>
        (await tenant.call('GET', `${path}?status=${wanted}`)).json.resources;
      expect(await found(status)).toMatchObject([{ id, status, status_message: message }]);
      expect(await found('DEPLOYED')).toEqual([]);
    },
  );

  it('refuses to deploy again by an id that is none', async () => {
    const { path } = await make();
    const answer = await tenant.call('POST', `${path}/newest/redeploy`);
    expect([answer.status, problemsIn(answer)]).toEqual([422, ['path.revision_id uuid_parsing']]);
    const other = await tenant.call('POST', `/v2/deployments/mine/revisions/${randomUUID()}/redeploy`);
    expect([other.status, problemsIn(other)]).toEqual([422, ['path.deployment_id uuid_parsing']]);
  });
});
