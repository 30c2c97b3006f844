import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { REASON, RESOURCES } from '#lib/resources';
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

  it('names how many were removed past the limit, also where an id is not found', async () => {
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
      `Revision with ID ${unknown} not found; 3 earlier revisions were removed, ` +
      'since the deployment keeps 10 that do not serve (revisionHistoryLimit)';
    for (const answer of [
      await tenant.call('GET', `${path}/${unknown}`),
      await tenant.call('POST', `${path}/${unknown}/redeploy`),
    ])
      expect([answer.status, answer.json.detail]).toEqual([404, detail]);
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
