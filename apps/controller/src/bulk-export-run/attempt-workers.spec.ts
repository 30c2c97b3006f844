import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  ANNOTATION,
  type BulkExportRun,
  exportJobName,
  type Job,
  JOBS,
  LABEL,
  NAMESPACES,
  SECRETS,
} from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { testEmbeddedKube, testPostgres, testKubeClient } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '#lib/trace-store';
import { AttemptWorkers, type AttemptWorkersDependencies } from './attempt-workers.js';

const NAMESPACE = 'system';

type NamedRun = BulkExportRun & { readonly uid: string };

function runNamed(name: string): NamedRun {
  const uid = randomUUID();
  const spec = { destination: { credentialsSecretName: 'missing' } };
  return { metadata: { namespace: 'ws-a', name, uid }, spec, uid } as unknown as NamedRun;
}

describe('AttemptWorkers.start', () => {
  const run = runNamed('x-01');

  it.each([1, 2])(
    'frees a held run for attempt %d, also while its credentials are missing',
    async (number) => {
      const freed: string[] = [];
      const workers = new AttemptWorkers({
        client: { find: () => Promise.resolve(undefined) },
        limits: { runTimeoutMs: 1_000 },
        traceStore: {
          exportProgress: { free: (uids: readonly string[]) => Promise.resolve(void freed.push(...uids)) },
        },
      } as unknown as AttemptWorkersDependencies);
      await workers.start(run, number);
      expect(freed).toEqual([run.uid]);
    },
  );
});

describe('AttemptWorkers.stop', () => {
  const server = testEmbeddedKube();
  const client = testKubeClient(server);
  const postgres = testPostgres();
  let traces: TraceStore;
  /** One worker has these one after the other, and is at the second. */
  let first: NamedRun;
  let second: NamedRun;
  let third: NamedRun;
  /** The Job as the cache shows it. */
  let job: Job | undefined;
  let workers: AttemptWorkers;

  beforeAll(async () => {
    await client.create(NAMESPACES, { metadata: { name: NAMESPACE } });
    const { uri } = await postgres.freshDatabase();
    traces = openTraceStore({ uri, log: createLogger('test', 'silent'), clock: systemClock });
    await traces.migrate();
  });
  afterAll(async () => {
    await traces.close();
  });

  beforeEach(async () => {
    [first, second, third] = [runNamed('x-01'), runNamed('x-02'), runNamed('x-03')];
    const labels = { [LABEL.exportRun]: 'x-01', [LABEL.exportNamespace]: 'ws-a', [LABEL.export]: first.uid };
    const metadata = { name: exportJobName(first.uid, 1), namespace: NAMESPACE, labels };
    await client.create(SECRETS, { metadata, data: { access_key_id: 'a2V5' } });
    const following = [second, third].map(({ metadata: { name }, uid }) => ({ name, uid }));
    job = await client.create(JOBS, {
      metadata: { ...metadata, annotations: { [ANNOTATION.followingRuns]: JSON.stringify(following) } },
      spec: {
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'worker', image: 'worker' }] } },
      },
    });
    await traces.exportProgress.claim(first.uid, 1);
    await traces.exportProgress.finish(first.uid, 1);
    await traces.exportProgress.claim(second.uid, 1);
    workers = workersWith(traces.exportProgress);
  });

  function workersWith(
    exportProgress: Pick<TraceStore['exportProgress'], 'find' | 'list' | 'forget'>,
    found?: Job,
  ): AttemptWorkers {
    const runs = [first, second, third];
    return new AttemptWorkers({
      client,
      traceStore: { exportProgress },
      systemNamespace: NAMESPACE,
      workerJobs: {
        following: ({ metadata }: BulkExportRun) => (metadata.uid === first.uid ? undefined : job),
      },
      jobs: { find: () => found },
      runs: { find: ({ name }: { name: string }) => runs.find(({ metadata }) => metadata.name === name) },
    } as unknown as AttemptWorkersDependencies);
  }

  const begins = (run: NamedRun) => traces.exportProgress.recordIntent(run.uid, 1, { part: 0, key: 'k' });
  const secrets = async (): Promise<readonly string[]> => {
    const { items } = await client.list(SECRETS, {
      namespace: NAMESPACE,
      labelSelector: `${LABEL.export}=${first.uid}`,
    });
    return items.map(({ metadata }) => metadata.name);
  };
  async function stop(run: NamedRun): Promise<boolean> {
    await traces.exportProgress.cancel(run.uid);
    const record = await traces.exportProgress.find(run.uid);
    return await workers.stop(run, record?.attempt ?? 0, record);
  }

  it('leaves no Secret of a worker, and credentials to clear up with', async () => {
    await begins(second);
    expect(await stop(second)).toBe(false);
    expect(await secrets()).toEqual([exportJobName(second.uid, 1)]);
    const { data } = await client.get(SECRETS, { namespace: NAMESPACE, name: exportJobName(second.uid, 1) });
    expect(data).toEqual({ access_key_id: 'a2V5' });
  });

  it('leaves credentials to clear up with where the Job was deleted for another run', async () => {
    await begins(second);
    await stop(third);
    job = undefined;
    // its pod may have a moment left
    expect(await stop(second)).toBe(false);
    expect(await secrets()).toEqual([exportJobName(second.uid, 1)]);
  });

  it('leaves no Secret where nothing is begun', async () => {
    await stop(third);
    job = undefined;
    await stop(second);
    expect(await secrets()).toEqual([]);
  });

  it('leaves a worker alone that has runs of other exports, until they have ended', async () => {
    const others = third as { spec: { exportName?: string }; status?: object };
    others.spec.exportName = 'another';
    await begins(second);
    expect(await stop(second)).toBe(false);
    expect(await secrets()).toEqual([exportJobName(first.uid, 1)]);
    expect(
      await client.find(JOBS, { namespace: NAMESPACE, name: exportJobName(first.uid, 1) }),
    ).toBeDefined();
    others.status = { conditions: [{ type: 'Completed', status: 'True' }] };
    await stop(second);
    expect(await secrets()).toEqual([exportJobName(second.uid, 1)]);
    expect(
      await client.find(JOBS, { namespace: NAMESPACE, name: exportJobName(first.uid, 1) }),
    ).toBeUndefined();
  });

  it('takes no copy for a run that was completed meanwhile', async () => {
    await begins(second);
    const { exportProgress } = traces;
    const read = await exportProgress.list([first.uid, second.uid, third.uid]);
    await exportProgress.clearIntent(second.uid, 1);
    await exportProgress.finish(second.uid, 1);
    const lagging = workersWith({
      list: () => Promise.resolve(read),
      find: (uid) => exportProgress.find(uid),
      forget: (uids) => exportProgress.forget(uids),
    });
    await lagging.stop(third, 0, undefined);
    expect(await secrets()).toEqual([]);
  });

  it('keeps the Secret for the run that the worker is named after', async () => {
    await traces.exportProgress.forget([first.uid]);
    await traces.exportProgress.claim(first.uid, 1);
    await begins(first);
    await stop(third);
    job = undefined;
    expect(await secrets()).toEqual([exportJobName(first.uid, 1)]);
    await stop(first);
    expect(await secrets()).toEqual([exportJobName(first.uid, 1)]);
    await workers.removeSecrets(first, 1);
    expect(await secrets()).toEqual([]);
  });

  it.each([
    ['keeps the Job of several runs that has failed, for those that were not looked at', 'Failed', true],
    ['deletes the one that has succeeded', 'Complete', false],
  ])('%s', async (_name, type, isKept) => {
    const ended = { ...(job as Job), status: { conditions: [{ type, status: 'True' }] } } as Job;
    expect(await workersWith(traces.exportProgress, ended).clear(first, 1)).toBe(true);
    const found = await client.find(JOBS, { namespace: NAMESPACE, name: exportJobName(first.uid, 1) });
    expect(found !== undefined).toBe(isKept);
  });
});
