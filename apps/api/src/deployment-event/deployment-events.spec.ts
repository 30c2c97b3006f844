import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { EVENTS, type KubeEvent, RESOURCES } from '#lib/resources';
import { deploymentBody } from '../testdata/deployment-body.js';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';

/** After what the tests make. */
const minute = (n: number): string => `2030-11-23T10:${String(n).padStart(2, '0')}:00Z`;

describe('events by REST', () => {
  const { api, tenant } = testApi();

  const deploy = async (name: string): Promise<string> =>
    (await tenant.call('POST', '/v2/deployments', deploymentBody({ name }))).json.id;
  const happen = (
    involvedObject: KubeEvent['involvedObject'],
    reason: string,
    more: Partial<KubeEvent> = {},
  ): Promise<KubeEvent> =>
    api.client.create(EVENTS, {
      metadata: { name: `e-${randomUUID()}`, namespace: tenant.namespace },
      involvedObject: { namespace: tenant.namespace, ...involvedObject },
      ...{ reason, message: `of ${involvedObject.name ?? ''}`, type: 'Normal' as const, ...more },
    });
  const at = (first: number, last = first): Partial<KubeEvent> => ({
    firstTimestamp: minute(first),
    lastTimestamp: minute(last),
    count: last - first + 1,
  });
  const eventsOf = async (id: string, query = '') =>
    (await tenant.call('GET', `/v2/deployments/${id}/events${query}`)).json.resources;

  it('answers those of the deployment, its revisions and their pods, newest last', async () => {
    const [id, other] = [await deploy('tide'), await deploy('tide-00001')];
    const { metadata } = await api.client.get(RESOURCES.AgentDeployment, {
      namespace: tenant.namespace,
      name: 'tide',
    });
    await happen({ kind: 'Pod', name: 'tide-00001-abc-x' }, 'BackOff', { ...at(5, 9), type: 'Warning' });
    await happen({ kind: 'AgentRevision', name: 'tide-00001' }, 'RevisionCreated', at(2));
    await happen({ kind: 'AgentDeployment', name: 'tide', uid: metadata.uid ?? '' }, 'Switched', at(7));
    await happen({ kind: 'AgentDeployment', name: 'tide', uid: randomUUID() }, 'OfAFormerOne', at(7));
    await happen({ kind: 'ReplicaSet', name: 'tide-00001-queue-abc' }, 'FailedCreate', {
      ...{ eventTime: `${minute(3).slice(0, -1)}.123456Z`, reportingComponent: 'replicaset-controller' },
      ...{ reportingInstance: 'r', action: 'Create' },
      series: { count: 4, lastObservedTime: `${minute(4).slice(0, -1)}.123456Z` },
    });
    await happen({ kind: 'Pod', name: 'tide-00001-00001-abc-x' }, 'OfTheOther', at(6));
    await happen({ kind: 'AgentDeployment', name: 'tides' }, 'OfNone', at(6));
    await happen({ kind: 'Pod', name: 'tide-pool' }, 'OfNone', at(6));
    const found = await eventsOf(id);
    expect(found.map((one: { reason: string }) => one.reason)).toEqual([
      'RevisionCreated',
      'FailedCreate',
      'Switched',
      'BackOff',
    ]);
    expect(found[1]).toMatchObject({ count: 4, source: 'replicaset-controller' });
    expect(found[3]).toEqual({
      ...{ id: expect.any(String), type: 'Warning', reason: 'BackOff', message: 'of tide-00001-abc-x' },
      ...{ count: 5, first_time: minute(5), last_time: minute(9), source: null },
      object: { kind: 'Pod', name: 'tide-00001-abc-x' },
    });
    expect((await eventsOf(id, '?limit=1')).map((one: { reason: string }) => one.reason)).toEqual([
      'BackOff',
    ]);
    expect((await eventsOf(other)).map((one: { reason: string }) => one.reason)).toEqual(['OfTheOther']);
  });

  it('has nothing for another workspace, and takes a limit from 1 to 1000', async () => {
    const id = await deploy('ebb');
    const foreign = await (await api.workspace()).call('GET', `/v2/deployments/${id}/events`);
    expect(foreign.status).toBe(404);
    for (const limit of ['0', '1001', 'x'])
      expect(problemsIn(await tenant.call('GET', `/v2/deployments/${id}/events?limit=${limit}`))).toEqual([
        expect.stringMatching(/^query\.limit /),
      ]);
  });
});
