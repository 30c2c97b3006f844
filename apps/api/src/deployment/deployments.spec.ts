import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type AgentDeployment, type AgentRevision, ANNOTATION, RESOURCES, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { deploymentBody } from '../testdata/deployment-body.js';
import { makeRevision as createRevision } from '../testdata/make-revision.js';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';

const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/);

describe('REST routes of deployments', () => {
  const { api, tenant } = testApi();

  const create = async (over: object = {}) => {
    const answer = await tenant.call('POST', '/v2/deployments', deploymentBody(over));
    expect([answer.status, answer.json?.detail]).toEqual([201, undefined]);
    return answer.json;
  };
  const resource = (name: string) =>
    api.client.get<AgentDeployment>(RESOURCES.AgentDeployment, { namespace: tenant.namespace, name });
  /** Makes the revision that the controller would make. */
  const makeRevision = (
    name: string,
    id: string,
    number: number,
    more: Partial<AgentRevision['spec']> = {},
  ) => createRevision(api.client, tenant, { name, id, number }, more);
  it('creates a deployment with a revision that can be read at once', async () => {
    const made = await create({ secrets: [{ name: 'TOKEN', value: 'top secret' }] });
    expect(made).toMatchObject({
      id: UUID,
      latest_revision_id: UUID,
      active_revision_id: null,
      tenant_id: tenant.tenantId,
      status: 'AWAITING_DATABASE',
      secrets: [{ name: 'TOKEN', value: '' }],
      source_config: { resource_spec: null, repo_url: null },
      source_revision_config: { image_uri: 'sample-agent', repo_ref: null },
    });
    const revision = await tenant.call(
      'GET',
      `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}`,
    );
    expect(revision.json).toMatchObject({ id: made.latest_revision_id, status: 'CREATING' });
    expect((await tenant.call('GET', `/v2/deployments/${made.id}`)).json).toEqual(made);
    const { spec } = await resource(made.name);
    expect(spec.revisionRequest).toEqual({ id: made.latest_revision_id, at: expect.any(String) });
    const secret = await api.client.get(SECRETS, {
      namespace: tenant.namespace,
      name: spec.secretsRef?.name ?? '',
    });
    expect(secret.data).toEqual({ TOKEN: Buffer.from('top secret').toString('base64') });
    expect(secret.metadata.ownerReferences?.[0]?.kind).toBe('AgentDeployment');
  });

  it('shows the revision that the controller made, and its failure', async () => {
    const made = await create();
    await makeRevision(made.name, made.latest_revision_id, 1);
    const path = `/v2/deployments/${made.id}/revisions`;
    const now = '2026-11-20T00:00:00Z';
    await api.client.mergeStatus(
      RESOURCES.AgentRevision,
      { namespace: tenant.namespace, name: `${made.name}-00001` },
      {
        status: {
          conditions: [
            { type: 'Built', status: 'True', reason: 'Image', message: '', lastTransitionTime: now },
            ...[
              { type: 'Failed', status: 'True' },
              { type: 'Ready', status: 'False' },
            ].map((one) => ({
              ...one,
              reason: 'GraphLoadFailed',
              message: 'no graph',
              lastTransitionTime: now,
            })),
          ],
        },
      } as never,
    );
    const shown = await waitFor(async () => {
      const { json } = await tenant.call('GET', `${path}/${made.latest_revision_id}`);
      return json.status === 'DEPLOY_FAILED' ? json : undefined;
    });
    expect(shown).toMatchObject({
      status_reason: 'GraphLoadFailed',
      status_message: 'no graph',
      source: 'internal_image',
    });
    expect((await tenant.call('GET', path)).json).toEqual({ resources: [shown], offset: 1, removed: 0 });
    expect((await tenant.call('GET', `${path}?status=DEPLOYED`)).json).toEqual({
      resources: [],
      offset: 0,
      removed: 0,
    });
  });

  it('makes a revision on PATCH of a field that needs one, and none for others', async () => {
    const made = await create();
    const patch = async (change: object) => {
      const answer = await tenant.call('PATCH', `/v2/deployments/${made.id}`, change);
      expect([answer.status, answer.json?.detail]).toEqual([200, undefined]);
      return answer.json;
    };
    let latest = made.latest_revision_id;
    for (const change of [
      { source_revision_config: { image_uri: 'sample-agent' } },
      { secrets: [{ name: 'A', value: '1' }] },
      { secrets: [] },
      { source_config: { resource_spec: { cpu: 0.25, memory_mb: 512 } } },
    ]) {
      const changed = await patch(change);
      expect(changed.latest_revision_id).not.toBe(latest);
      latest = changed.latest_revision_id;
    }
    const { spec } = await resource(made.name);
    expect(spec.sourceConfig.resourceSpec).toEqual({ cpu: 0.3, memoryMb: 512 });
    const secrets = (await api.client.list(SECRETS, { namespace: tenant.namespace })).items;
    expect(secrets.filter((secret) => secret.metadata.name.startsWith(`${made.name}-secrets-`))).toHaveLength(
      1,
    );
    const untouched = await patch({
      source_config: null,
      secrets: null,
      source_revision_config: { image_uri: null },
    });
    expect(untouched.latest_revision_id).toBe(latest);
    expect((await patch({ name: made.name, source: made.source })).latest_revision_id).toBe(latest);
    const replaced = await patch({ source_config: { resource_spec: { memory_mb: 256 } } });
    expect(replaced.source_config.resource_spec).toEqual({ memory_mb: 256 });
  });

  it('answers the same times at first and later, in whole seconds', async () => {
    const WHOLE_SECONDS = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const made = await create();
    expect(made).toMatchObject({ created_at: WHOLE_SECONDS, updated_at: WHOLE_SECONDS });
    expect(made.created_at).toBe((await resource(made.name)).metadata.creationTimestamp);
    const revision = `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}`;
    const times = { created_at: WHOLE_SECONDS, updated_at: WHOLE_SECONDS };
    expect((await tenant.call('GET', revision)).json).toMatchObject({ ...times, status: 'CREATING' });
    await makeRevision(made.name, made.latest_revision_id, 1);
    const patched = await tenant.call('PATCH', `/v2/deployments/${made.id}`, { secrets: [] });
    const read = await tenant.call('GET', `/v2/deployments/${made.id}`);
    for (const { json } of [patched, read]) {
      expect(json).toMatchObject(times);
      expect(json.created_at).toBe(made.created_at);
    }
  });

  it('refuses a name that is taken', async () => {
    const made = await create({ name: 'My Agent' });
    expect((await tenant.call('POST', '/v2/deployments', deploymentBody({ name: 'My Agent' }))).status).toBe(
      409,
    );
    expect((await create({ name: 'my-agent' })).id).not.toBe(made.id);
  });

  it('redeploys a revision as a new one', async () => {
    const made = await create();
    const path = `/v2/deployments/${made.id}/revisions`;
    expect((await tenant.call('POST', `${path}/${made.latest_revision_id}/redeploy`)).status).toBe(400);
    expect((await tenant.call('POST', `${path}/${randomUUID()}/redeploy`)).status).toBe(404);
    await makeRevision(made.name, made.latest_revision_id, 1);
    const answer = await waitFor(async () => {
      const again = await tenant.call('POST', `${path}/${made.latest_revision_id}/redeploy`);
      return again.status === 200 ? again : undefined;
    });
    expect(answer.json).toMatchObject({ id: made.id, latest_revision_id: UUID });
    expect(answer.json.latest_revision_id).not.toBe(made.latest_revision_id);
    expect((await resource(made.name)).spec.revisionRequest).toMatchObject({
      id: answer.json.latest_revision_id,
      fromRevisionId: made.latest_revision_id,
    });
  });

  it('restarts what serves, and changes no spec', async () => {
    const made = await create();
    const path = `/v2/deployments/${made.id}`;
    expect((await tenant.call('POST', `${path}/restart`)).status).toBe(400);
    const before = await resource(made.name);
    const activeRevisionName = `${made.name}-00001`;
    const key = { namespace: tenant.namespace, name: made.name };
    await api.client.mergeStatus(RESOURCES.AgentDeployment, key, { status: { activeRevisionName } });
    const answer = await waitFor(async () => {
      const asked = await tenant.call('POST', `${path}/restart`);
      return asked.status === 200 && asked;
    });
    expect(answer.json.latest_revision_id).toBe(made.latest_revision_id);
    const after = await resource(made.name);
    expect(after.spec).toEqual(before.spec);
    expect(after.metadata.annotations?.['agentplane.dev/restart']).toMatch(/-00001@\d{4}-/);
  });

  it('brings the spec back to what a redeployed revision was', async () => {
    const secrets = [{ name: 'MODEL', value: 'one' }];
    const resource_spec = { cpu: 0.5 };
    const made = await create({ secrets, source_config: { resource_spec } });
    const path = `/v2/deployments/${made.id}`;
    const revision = await makeRevision(made.name, made.latest_revision_id, 1, {
      resourceSpec: resource_spec,
    });
    const owner = { apiVersion: 'agentplane.dev/v1alpha1', kind: 'AgentRevision' };
    const { name, uid = '' } = revision.metadata;
    const secretAt = (secret: string) => ({ namespace: tenant.namespace, name: secret });
    await api.client.create(SECRETS, {
      metadata: { ...secretAt(`${name}-env`), ownerReferences: [{ ...owner, name, uid }] },
      data: { MODEL: Buffer.from('one').toString('base64') },
    });
    const worse = {
      secrets: [...secrets, { name: 'OTHER', value: 'two' }],
      source_revision_config: { image_uri: 'worse' },
      source_config: { resource_spec: { cpu: 2 } },
    };
    expect((await tenant.call('PATCH', path, worse)).json.source_revision_config.image_uri).toBe('worse');
    const answer = await waitFor(async () => {
      const again = await tenant.call('POST', `${path}/revisions/${made.latest_revision_id}/redeploy`);
      return again.status === 200 && again;
    });
    expect(answer.json.source_revision_config.image_uri).toBe('sample-agent');
    expect(answer.json.source_config.resource_spec).toEqual(resource_spec);
    expect(answer.json.secrets).toEqual([{ name: 'MODEL', value: '' }]);
    const { spec, metadata } = await resource(made.name);
    const secret = await api.client.get(SECRETS, secretAt(spec.secretsRef?.name ?? ''));
    expect(Buffer.from(secret.data?.['MODEL'] ?? '', 'base64').toString()).toBe('one');
    expect(secret.metadata.ownerReferences).toEqual([expect.objectContaining({ uid: metadata.uid })]);
  });

  it('suspends, resumes and sets how revisions take over, without making one', async () => {
    const made = await create({ min_ready_seconds: 20 });
    expect([made.min_ready_seconds, made.rollback_on_failure]).toEqual([20, null]);
    const path = `/v2/deployments/${made.id}`;
    const changed = { suspend: true, min_ready_seconds: 0, rollback_on_failure: false };
    const { status, json } = await tenant.call('PATCH', path, changed);
    expect([status, json.min_ready_seconds, json.rollback_on_failure]).toEqual([200, 0, false]);
    expect(json.latest_revision_id).toBe(made.latest_revision_id);
    const { suspend } = (await resource(made.name)).spec;
    expect(suspend).toBe(true);
    await tenant.call('PATCH', path, { suspend: false });
    expect((await resource(made.name)).spec.suspend).toBe(false);
    const wrong = await tenant.call('PATCH', path, { min_ready_seconds: -1 });
    expect(wrong.status).toBe(422);
  });

  it('lists deployments in pages, filtered, without those of other workspaces', async () => {
    const other = await api.workspace();
    const names = ['one', 'two', 'three'];
    for (const name of names)
      expect(
        (await other.call('POST', '/v2/deployments', deploymentBody({ name: `list-${name}` }))).status,
      ).toBe(201);
    const first = (await other.call('GET', '/v2/deployments?limit=2')).json;
    const second = (await other.call('GET', `/v2/deployments?limit=2&offset=${first.offset}`)).json;
    const listed = [...first.resources, ...second.resources].map((one: { name: string }) => one.name);
    expect(listed.sort()).toEqual(names.map((name) => `list-${name}`).sort());
    expect([first.offset, second.offset]).toEqual([2, 3]);
    const upper = String(first.resources[0].id).toUpperCase();
    expect((await other.call('GET', `/v2/deployments?deployment_ids=${upper}`)).json.resources).toHaveLength(
      1,
    );
    expect(problemsIn(await other.call('GET', `/v2/deployments?offset=${'9'.repeat(20)}`))).toEqual([
      'query.offset less_than_equal',
    ]);
    expect((await other.call('GET', '/v2/deployments?name_contains=TWO')).json.resources).toHaveLength(1);
    expect((await other.call('GET', '/v2/deployments?status=READY')).json.resources).toHaveLength(0);
    expect(
      (await other.call('GET', `/v2/deployments?deployment_ids=${first.resources[0].id},${randomUUID()}`))
        .json.resources,
    ).toHaveLength(1);
    expect(problemsIn(await other.call('GET', '/v2/deployments?limit=0&offset=-1&status=x')).sort()).toEqual([
      'query.limit greater_than_equal',
      'query.offset greater_than_equal',
      'query.status enum',
    ]);
    const foreign = first.resources[0].id as string;
    const hide = (text: string) => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID');
    for (const [method, path, sent] of [
      ['GET', ''],
      ['PATCH', '', {}],
      ['DELETE', ''],
      ['GET', '/revisions'],
      ['GET', `/revisions/${randomUUID()}`],
      ['POST', `/revisions/${randomUUID()}/redeploy`],
    ] as const) {
      const [seen, missing] = [foreign, randomUUID()].map((id) =>
        tenant.call(method, `/v2/deployments/${id}${path}`, sent),
      );
      expect([method, path, (await seen)?.status, hide((await seen)?.text ?? '')]).toEqual([
        method,
        path,
        404,
        hide((await missing)?.text ?? ''),
      ]);
    }
  });

  it('answers every revision id that it gave out, also a skipped one', async () => {
    const made = await create();
    const path = `/v2/deployments/${made.id}`;
    const patches = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        tenant.call('PATCH', path, { source_revision_config: { image_uri: `image-${n}` } }),
      ),
    );
    expect(patches.map(({ status }) => status)).toEqual(patches.map(() => 200));
    const ids = [made.latest_revision_id, ...patches.map(({ json }) => json.latest_revision_id)] as string[];
    expect(new Set(ids).size).toBe(13);
    const { latest_revision_id: latest } = (await tenant.call('GET', path)).json;
    const shown = await Promise.all(
      ids.map(async (id) => (await tenant.call('GET', `${path}/revisions/${id}`)).json),
    );
    expect(shown.map(({ id }) => id)).toEqual(ids);
    expect(shown.map(({ status }) => status)).toEqual(
      ids.map((id) => (id === latest ? 'CREATING' : 'SKIPPED')),
    );
    expect(shown[0]).toMatchObject({
      status_reason: 'NewerRevision',
      source_revision_config: { image_uri: 'sample-agent' },
    });
    const listed = (await tenant.call('GET', `${path}/revisions?status=SKIPPED,CREATING`)).json.resources;
    expect(listed.map(({ id }: { id: string }) => id).sort()).toEqual([...ids].sort());
    expect((await tenant.call('POST', `${path}/revisions/${ids[0]}/redeploy`)).status).toBe(400);
    expect(problemsIn(await tenant.call('GET', `${path}/revisions?status=BOGUS`))).toEqual([
      'query.status enum',
    ]);
    await makeRevision(made.name, ids[0] ?? '', 1); // the controller had it in hand already
    await waitFor(
      async () => (await tenant.call('GET', `${path}/revisions/${ids[0]}`)).json.status !== 'SKIPPED',
    );
  });

  it('keeps what a PATCH does not name, also inside of listener_config', async () => {
    const made = await create({
      source: 'external_image',
      source_revision_config: { image_uri: 'local/x' },
      source_config: { listener_config: { cluster_namespace: tenant.namespace } },
    });
    for (const listener_config of [
      {},
      { cluster_namespace: null },
      { cluster_namespace: tenant.namespace },
      null,
    ]) {
      const answer = await tenant.call('PATCH', `/v2/deployments/${made.id}`, {
        source_config: { listener_config },
      });
      expect([answer.status, answer.json.source_config?.listener_config]).toEqual([
        200,
        { cluster_namespace: tenant.namespace, k8s_namespace: tenant.namespace },
      ]);
    }
  });

  it('refuses changes of a deployment that is being deleted', async () => {
    const made = await create();
    const key = { namespace: tenant.namespace, name: made.name };
    await makeRevision(made.name, made.latest_revision_id, 1);
    const finalizers = (list: string[]) =>
      api.client.merge(RESOURCES.AgentDeployment, key, { metadata: { finalizers: list } });
    await finalizers(['agentplane.dev/deployment']);
    const path = `/v2/deployments/${made.id}`;
    expect((await tenant.call('DELETE', path)).status).toBe(204);
    expect((await tenant.call('DELETE', path)).status).toBe(204);
    expect((await tenant.call('GET', path)).json.status).toBe('AWAITING_DELETE');
    const changed = await tenant.call('PATCH', path, { secrets: [{ name: 'A', value: 'b' }] });
    expect(changed).toMatchObject({
      status: 400,
      json: { detail: expect.stringContaining('is being deleted') },
    });
    const again = await tenant.call('POST', `${path}/revisions/${made.latest_revision_id}/redeploy`);
    expect(again.status).toBe(400);
    await finalizers([]);
    await waitFor(async () => (await tenant.call('GET', path)).status === 404);
  });

  it('answers 404 for a deployment that is deleted during a change', async () => {
    for (let round = 0; round < 10; round++) {
      const made = await create();
      const path = `/v2/deployments/${made.id}`;
      const answers = await Promise.all([
        tenant.call('DELETE', path),
        tenant.call('PATCH', path, { secrets: [{ name: 'A', value: 'b' }] }),
        tenant.call('DELETE', path),
      ]);
      for (const { status } of answers) expect([200, 204, 400, 404]).toContain(status);
    }
    const left = (await api.client.list(SECRETS, { namespace: tenant.namespace })).items;
    expect(left.filter(({ metadata }) => (metadata.ownerReferences ?? []).length === 0)).toEqual([]);
  });

  it('refuses other methods with 405, and asks for a key on private routes', async () => {
    const made = await create();
    const ask = async (method: string, path: string, key = tenant.key) => {
      const response = await fetch(api.url + path, {
        method,
        headers: key === '' ? {} : { 'x-api-key': key },
      });
      return [response.status, response.headers.get('allow')];
    };
    expect(await ask('PUT', '/v2/deployments')).toEqual([405, 'DELETE, GET, HEAD, POST']);
    expect(await ask('OPTIONS', `/v2/deployments/${made.id}`)).toEqual([405, 'DELETE, GET, HEAD, PATCH']);
    expect(await ask('PUT', '/v2/deployments', '')).toEqual([401, null]);
    expect(await ask('PUT', '/v2/nothing')).toEqual([404, null]);
    expect(await ask('HEAD', `/v2/deployments/${made.id}`)).toEqual([200, null]);
    expect(await ask('HEAD', '/ok', '')).toEqual([200, null]);
  });

  it('deletes a deployment, with its project on request', async () => {
    const made = await create();
    const project = await api.store.projects.ensure(tenant.tenantId, made.name);
    const removed = await tenant.call('DELETE', `/v2/deployments/${made.id}?delete_tracing_project=true`);
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect(await api.store.projects.find(tenant.tenantId, { id: project.id })).toBeUndefined();
    await waitFor(async () => (await tenant.call('GET', `/v2/deployments/${made.id}`)).status === 404);
  });

  it('deletes the project that a run made again, not the one that the status names', async () => {
    const made = await create();
    const first = await api.store.projects.ensure(tenant.tenantId, made.name);
    const [found] = (
      await api.client.list(RESOURCES.AgentDeployment, { namespace: tenant.namespace })
    ).items.filter((one) => one.metadata.annotations?.[ANNOTATION.id] === made.id);
    const key = { namespace: tenant.namespace, name: found?.metadata.name ?? '' };
    await api.client.mergeStatus(RESOURCES.AgentDeployment, key, { status: { tracingProjectId: first.id } });
    await tenant.call('DELETE', `/sessions/${first.id}`);
    const second = await api.store.projects.ensure(tenant.tenantId, made.name);
    await tenant.call('DELETE', `/v2/deployments/${made.id}?delete_tracing_project=true`);
    expect(await api.store.projects.find(tenant.tenantId, { id: second.id })).toBeUndefined();
  });

  it('lists listeners and integrations', async () => {
    await api.client.create(RESOURCES.Listener, {
      metadata: { name: 'default', namespace: tenant.namespace },
      spec: { computeType: 'cluster', computeId: 'here' },
    });
    const { resources } = await waitFor(async () => {
      const { json } = await tenant.call('GET', '/v2/listeners');
      return json.resources.length > 0 ? json : undefined;
    });
    expect(resources[0]).toMatchObject({
      id: UUID,
      compute_type: 'cluster',
      compute_id: 'here',
      compute_config: { cluster_namespaces: [tenant.namespace] },
    });
    const external = { source: 'external_image', source_revision_config: { image_uri: 'local/x' } };
    const made = await create({ ...external, source_config: { listener_id: resources[0].id } });
    expect(made.source_config.listener_id).toBe(resources[0].id);
    const unknown = await tenant.call(
      'POST',
      '/v2/deployments',
      deploymentBody({ ...external, source_config: { listener_id: randomUUID() } }),
    );
    expect(unknown.status).toBe(400);
    expect((await tenant.call('GET', '/v1/integrations/git_host/install')).json).toEqual([]);
  });

  it('shows what kubectl applied', async () => {
    await api.client.create(RESOURCES.AgentDeployment, {
      metadata: { name: 'by-hand', namespace: tenant.namespace },
      spec: { source: 'internal_image', sourceRevisionConfig: { imageUri: 'x' } } as AgentDeployment['spec'],
    });
    const shown = await waitFor(async () => {
      const { json } = await tenant.call('GET', '/v2/deployments?name_contains=by-hand');
      return json.resources[0];
    });
    expect(shown).toMatchObject({
      name: 'by-hand',
      latest_revision_id: null,
      secrets: [],
      source_config: { build_on_push: null },
    });
  });
});
