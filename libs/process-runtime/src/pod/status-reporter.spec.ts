import { beforeAll, describe, expect, it } from '@jest/globals';
import { keyOf, PODS, type PodStatus, SERVICE_ACCOUNTS } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { FakeClock, testEmbeddedKube, testKubeClient, waitFor } from '#lib/testing';
import { StatusReporter } from './status-reporter.js';

const CREATING = { waiting: { reason: 'ContainerCreating' } } as const;
const RUNNING = { running: { startedAt: '2026-05-01T12:00:00Z' } } as const;

function statusOf(
  phase: 'Pending' | 'Running',
  state: NonNullable<NonNullable<PodStatus['containerStatuses']>[number]['state']>,
  ready = false,
): PodStatus {
  return {
    phase,
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    containerStatuses: [{ name: 'main', image: 'x', imageID: '', ready, restartCount: 0, state }],
  };
}

describe('StatusReporter', () => {
  const client = testKubeClient(testEmbeddedKube());

  beforeAll(async () => {
    await client.create(SERVICE_ACCOUNTS, { metadata: { namespace: 'default', name: 'default' } });
  });

  async function scene(name: string) {
    const clock = new FakeClock();
    const pod = await client.create(PODS, {
      metadata: { namespace: 'default', name },
      spec: { containers: [{ name: 'main', image: 'x' }] },
    });
    let status = statusOf('Pending', CREATING);
    const reporter = new StatusReporter({
      client,
      clock,
      log: createLogger('test', 'silent'),
      pod: () => pod,
      status: () => status,
      annotations: () => ({}),
    });
    const stored = async (): Promise<PodStatus | undefined> => (await client.get(PODS, keyOf(pod))).status;
    const report = (next: PodStatus): void => {
      status = next;
      reporter.report();
    };
    const turns = async (): Promise<void> => {
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    };
    return { clock, pod, reporter, stored, report, turns };
  }

  const isStored = async (
    stored: () => Promise<PodStatus | undefined>,
    is: (status: PodStatus | undefined) => boolean,
  ): Promise<void> => {
    await waitFor(async () => is(await stored()));
  };

  it('writes the steps of a start together, and readiness at once', async () => {
    const { report, stored, turns, pod } = await scene('quick');
    report(statusOf('Pending', CREATING));
    await turns();
    report(statusOf('Running', RUNNING));
    await turns();
    expect((await client.get(PODS, keyOf(pod))).metadata.resourceVersion).toBe(pod.metadata.resourceVersion);
    report(statusOf('Running', RUNNING, true));
    await isStored(stored, (status) => status?.containerStatuses?.[0]?.ready === true);
  });

  it('writes a start that takes longer after a quarter of a second', async () => {
    const { clock, report, stored, turns } = await scene('slow');
    report(statusOf('Pending', CREATING));
    await turns();
    await clock.advance(200);
    report(statusOf('Running', RUNNING));
    await turns();
    expect((await stored())?.containerStatuses).toBeUndefined();
    await clock.advance(50);
    await isStored(stored, (status) => status?.phase === 'Running');
  });

  it.each([
    [
      'a container that cannot start',
      statusOf('Pending', { waiting: { reason: 'ErrImageNeverPull' } }),
      'ErrImageNeverPull',
    ],
    ['a container that ended', statusOf('Running', { terminated: { exitCode: 77 } }), '77'],
    ['a pod that is over', { phase: 'Failed', reason: 'OutOfpods' } satisfies PodStatus, 'OutOfpods'],
  ])('writes %s at once', async (what, status, text) => {
    const { report, stored } = await scene(what.replaceAll(' ', '-'));
    report(statusOf('Pending', CREATING));
    report(status);
    await isStored(stored, (found) => JSON.stringify(found).includes(text));
  });

  it('writes a pod that is no longer ready at once, and what it is asked to flush', async () => {
    const { report, reporter, stored } = await scene('lost');
    report(statusOf('Pending', CREATING));
    await reporter.flush(5_000);
    expect((await stored())?.containerStatuses).toHaveLength(1);
    report(statusOf('Running', RUNNING, true));
    await isStored(stored, (status) => status?.containerStatuses?.[0]?.ready === true);
    report(statusOf('Running', RUNNING));
    await isStored(stored, (status) => status?.containerStatuses?.[0]?.ready === false);
  });
});
