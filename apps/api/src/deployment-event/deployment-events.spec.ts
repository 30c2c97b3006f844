import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Caller } from '#lib/auth';
import type { KubeClient } from '#lib/kube';
import { type AgentDeployment, EVENTS, type KubeEvent, RESOURCES } from '#lib/resources';
import { FakeClock } from '#lib/testing';
import { deploymentBody } from '../testdata/deployment-body.js';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';
import { DeploymentEvents } from './events-controller.js';

/** Times after those of the objects that the tests make. */
const minute = (n: number): string => `2030-11-23T10:${String(n).padStart(2, '0')}:00Z`;

describe('events by REST', () => {
  const { api, tenant } = testApi();

  const deploy = async (name: string): Promise<string> =>
    (await tenant.call('POST', '/v2/deployments', deploymentBody({ name }))).json.id;
  const happen = (
    involvedObject: KubeEvent['involvedObject'],
    reason: string,
    more: Partial<KubeEvent> & { readonly action?: string } = {},
  ): Promise<KubeEvent> =>
    api.client.create(EVENTS, {
      metadata: { name: `e-${randomUUID()}`, namespace: tenant.namespace },
      involvedObject: { namespace: tenant.namespace, ...involvedObject },
      reason,
      message: `of ${involvedObject.name ?? ''}`,
      type: 'Normal' as const,
      ...more,
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
      eventTime: `${minute(3).slice(0, -1)}.123456Z`,
      reportingComponent: 'replicaset-controller',
      reportingInstance: 'r',
      action: 'Create',
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
      id: expect.any(String),
      type: 'Warning',
      reason: 'BackOff',
      message: 'of tide-00001-abc-x',
      count: 5,
      first_time: minute(5),
      last_time: minute(9),
      source: null,
      object: { kind: 'Pod', name: 'tide-00001-abc-x' },
    });
    expect((await eventsOf(id, '?limit=1')).map((one: { reason: string }) => one.reason)).toEqual([
      'BackOff',
    ]);
    expect((await eventsOf(other)).map((one: { reason: string }) => one.reason)).toEqual(['OfTheOther']);
  });

  it('reads pages that are small, holds what is wanted, and cuts long texts', async () => {
    const sizes: (number | undefined)[] = [];
    let live = 0;
    const eventOf = (n: number): KubeEvent => ({
      metadata: { name: `e-${n}`, uid: `${n}` },
      involvedObject: { kind: 'Pod', name: 'tide-00001-x' },
      reason: 'x'.repeat(9_000),
      message: 'y'.repeat(9_000),
      lastTimestamp: minute(n % 60),
    });
    async function* pages(_ref: object, { pageSize = 500 }) {
      sizes.push(pageSize);
      for (let at = 0; at < 2_000; at += pageSize) {
        live++;
        yield { items: Array.from({ length: pageSize }, (_, n) => eventOf(at + n)), resourceVersion: '1' };
      }
    }
    const deployment = {
      metadata: { name: 'tide', namespace: 'ws', creationTimestamp: minute(0) },
    } as AgentDeployment;
    const events = new DeploymentEvents(
      { pages: pages as unknown as KubeClient['pages'] },
      { find: () => deployment },
      { list: () => [deployment] },
      new FakeClock(),
    );
    const { resources } = await events.list({} as Caller, 'id', { limit: 10 });
    expect(resources.map(({ last_time: time }) => time)).toEqual(
      Array.from({ length: 10 }, () => minute(59)),
    );
    expect([resources[0]?.reason.length, resources[0]?.message.length]).toEqual([257, 1_025]);
    expect([sizes, live]).toEqual([[50], 40]);
  });

  it('refuses more lists than a workspace may read at once', async () => {
    const id = await deploy('flood');
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => tenant.call('GET', `/v2/deployments/${id}/events`)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
    expect((await tenant.call('GET', `/v2/deployments/${id}/events`)).status).toBe(200);
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
