import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  ANNOTATION,
  type BulkExport,
  type BulkExportRun,
  exportRunWireStatus,
  exportWireStatus,
  findCondition,
  isConditionTrue,
  JOBS,
  LABEL,
  RESOURCES,
  SECRETS,
} from '#lib/resources';
import { waitFor } from '#lib/testing';
import { type ControlPlane, NAMESPACE, SYSTEM, testControlPlane } from './control-plane.js';

/** What wakes a run or an export shows within this; looks that need no waking come later. */
const BEFORE_ANY_LOOK = { timeoutMs: 20_000 };

describe('the controller’s exports', () => {
  const start = testControlPlane();
  let plane: ControlPlane;
  let projectId: string;
  let count = 0;
  let name: string;

  beforeAll(async () => {
    plane = await start({
      isForExports: true,
      // each day has a Job of its own; several in one are those of `export-workers.spec.ts`
      controller: { AGENTPLANE_EXPORT_RUNS_OF_WORKER: '1' },
    });
    projectId = (await plane.traces.projects.ensure(plane.tenantId, 'p')).id;
  });
  afterAll(() => plane.stop());
  beforeEach(() => {
    name = `x${++count}`;
  });

  const at = (object: string) => ({ namespace: NAMESPACE, name: object });
  const run = (day: number) => plane.client.get(RESOURCES.BulkExportRun, at(`${name}-2026050${day}`));
  const runs = async (): Promise<readonly BulkExportRun[]> =>
    (await plane.client.list(RESOURCES.BulkExportRun, { namespace: NAMESPACE })).items.filter(
      ({ spec }) => spec.exportName === name,
    );
  const theExport = (): Promise<BulkExport> => plane.client.get(RESOURCES.BulkExport, at(name));
  const jobs = async () =>
    (await plane.client.list(JOBS, { namespace: SYSTEM, labelSelector: `${LABEL.export}=${name}` })).items;
  const secrets = async (): Promise<readonly string[]> =>
    (
      await plane.client.list(SECRETS, { namespace: SYSTEM, labelSelector: `${LABEL.export}=${name}` })
    ).items.map(({ metadata }) => metadata.name);

  /** Of three days. */
  async function begin(destination = 'local', suspend = false): Promise<void> {
    await plane.client.create(RESOURCES.BulkExport, {
      metadata: at(name),
      spec: {
        destinationRef: { name: destination },
        tracingProject: { id: projectId },
        startTime: '2026-05-01T00:00:00Z',
        endTime: '2026-05-04T00:00:00Z',
        format: 'parquet',
        formatVersion: 'v1',
        compression: 'zstd',
        cancel: false,
        suspend,
      },
    });
  }
  const saying = (day: number, type: string, reason: string) =>
    waitFor(async () => findCondition((await run(day)).status?.conditions, type)?.reason === reason, {
      ...BEFORE_ANY_LOOK,
      what: `day ${day} to say ${type} ${reason}`,
    });
  /** What the export itself says about why nothing runs. */
  const exportSaying = (status: string, reason: string) =>
    waitFor(
      async () => {
        const ready = findCondition((await theExport()).status?.conditions, 'Ready');
        return ready?.status === status && ready.reason === reason && ready.message;
      },
      { ...BEFORE_ANY_LOOK, what: `the export to say ${reason}` },
    );
  const wire = async (day: number) => exportRunWireStatus(await run(day));
  const under = (day: number, attempt = 1) =>
    waitFor(
      async () => {
        const found = await run(day);
        const all = await jobs();
        const suffix = `-${attempt}`;
        const label = found.metadata.name;
        return all.some(
          ({ metadata }) => metadata.labels?.[LABEL.exportRun] === label && metadata.name.endsWith(suffix),
        );
      },
      { ...BEFORE_ANY_LOOK, what: `attempt ${attempt} of day ${day}` },
    );
  /** A worker that does all of its work. */
  async function work(day: number, attempt = 1): Promise<void> {
    await under(day, attempt);
    const { uid = '' } = (await run(day)).metadata;
    await plane.traces.exportProgress.claim(uid, attempt);
    await plane.traces.exportProgress.finish(uid, attempt);
  }
  /** A worker that ends with an exit code. */
  async function fail(day: number, attempt: number, exitCode: number): Promise<void> {
    await under(day, attempt);
    const { uid = '' } = (await run(day)).metadata;
    await plane.traces.exportProgress.claim(uid, attempt);
    await plane.traces.exportProgress.fail(uid, attempt, `the store said ${exitCode}`);
    const selector = `${LABEL.exportRun}=${name}-2026050${day},${LABEL.attempt}=${attempt}`;
    const [pod] = await waitFor(async () => {
      const pods = await plane.pods(selector, SYSTEM);
      return pods.length > 0 && pods;
    }, BEFORE_ANY_LOOK);
    const state = { terminated: { exitCode, finishedAt: new Date().toISOString() } };
    if (pod) await plane.reportPod(pod, { ready: false, state }, 'Failed');
  }

  it('runs as many days at a time as may be, the next as soon as one ends, and clears away', async () => {
    await begin();
    await under(1);
    await under(2);
    await saying(3, 'Running', 'Queued');
    expect([await wire(2), await wire(3)]).toEqual(['RUNNING', 'CREATED']);
    await work(1);
    await work(3);
    await work(2);
    await waitFor(
      async () => isConditionTrue((await theExport()).status?.conditions, 'Completed'),
      BEFORE_ANY_LOOK,
    );
    expect((await theExport()).status).toMatchObject({
      percent: 100,
      tracingProjectName: 'p',
      runs: { total: 3, completed: 3 },
    });
    expect([await jobs(), await secrets()]).toEqual([[], []]);
  });

  it('try a day again, and end with the day that the store refuses', async () => {
    await begin();
    await fail(1, 1, 75);
    await under(1, 2);
    expect((await run(1)).status?.errors).toEqual({ retry_0: 'the store said 75' });
    await fail(1, 2, 65);
    await saying(1, 'Failed', 'StorageFailed');
    await saying(2, 'Failed', 'Cancelled');
    await saying(3, 'Failed', 'Cancelled');
    await waitFor(async () => (await theExport()).status?.runs?.cancelled === 2, BEFORE_ANY_LOOK);
    expect((await theExport()).status).toMatchObject({
      runs: { total: 3, failed: 1, cancelled: 2, running: 0 },
    });
    expect(findCondition((await theExport()).status?.conditions, 'Failed')?.reason).toBe('RunFailed');
    // failed Jobs keep their logs; nobody needs their credentials any more
    expect((await jobs()).map(({ metadata }) => metadata.labels?.[LABEL.exportRun])).toEqual([
      `${name}-20260501`,
      `${name}-20260501`,
    ]);
    expect(await secrets()).toEqual([]);
  });

  it('ends a cancelled export, and counts to the end', async () => {
    await begin();
    await under(2);
    await plane.client.merge(RESOURCES.BulkExport, at(name), { spec: { cancel: true } });
    for (const day of [1, 2, 3]) await saying(day, 'Failed', 'Cancelled');
    await waitFor(async () => (await jobs()).length === 0, BEFORE_ANY_LOOK);
    await waitFor(async () => (await theExport()).status?.runs?.cancelled === 3, BEFORE_ANY_LOOK);
    const { uid = '' } = (await run(1)).metadata;
    await expect(plane.traces.exportProgress.claim(uid, 9)).rejects.toThrow();
    // nor may those claim that are still to be made
    const { uid: exportUid } = (await theExport()).metadata;
    await expect(plane.traces.exportProgress.claim(randomUUID(), 1, exportUid)).rejects.toThrow();
  });

  it('leaves no worker behind, whenever an export is cancelled', async () => {
    for (const many of [0, 1, 2, 1, 2]) {
      name = `x${++count}`;
      await begin();
      await waitFor(async () => (await jobs()).length >= many, { ...BEFORE_ANY_LOOK, intervalMs: 1 });
      await plane.client.merge(RESOURCES.BulkExport, at(name), { spec: { cancel: true } });
      await waitFor(
        async () => isConditionTrue((await theExport()).status?.conditions, 'Failed'),
        BEFORE_ANY_LOOK,
      );
      const left = async () => [...(await jobs()).map(({ metadata }) => metadata.name), ...(await secrets())];
      await waitFor(async () => (await left()).length === 0, {
        ...BEFORE_ANY_LOOK,
        what: `nothing to be left of an export cancelled with ${many} Jobs just made`,
      });
    }
  });

  it('distinguishes what the worker cannot do from what the store refuses', async () => {
    await begin();
    await fail(1, 1, 64);
    await saying(1, 'Failed', 'RunRefused');
  });

  it('waits for the test of a destination that was changed a moment ago', async () => {
    const { spec } = await plane.client.get(RESOURCES.BulkExportDestination, at('local'));
    await plane.client.create(RESOURCES.BulkExportDestination, { metadata: at('moving'), spec });
    const validated = async () =>
      findCondition(
        (await plane.client.get(RESOURCES.BulkExportDestination, at('moving'))).status?.conditions,
        'Validated',
      )?.status;
    await waitFor(async () => (await validated()) === 'True', BEFORE_ANY_LOOK);
    await plane.client.merge(RESOURCES.BulkExportDestination, at('moving'), {
      spec: { config: { bucketName: 'nowhere' } },
    });
    await begin('moving');
    await waitFor(async () => (await validated()) === 'False', BEFORE_ANY_LOOK);
    await waitFor(
      async () =>
        findCondition((await theExport()).status?.conditions, 'Accepted')?.reason === 'DestinationNotReady',
      BEFORE_ANY_LOOK,
    );
    expect(await runs()).toEqual([]);
  });

  it('begins anew under the name of a deleted export, once its runs are deleted', async () => {
    await begin();
    await under(1);
    const first = await run(1);
    const hold = (finalizers: string[]) =>
      plane.client.merge(RESOURCES.BulkExportRun, at(first.metadata.name), { metadata: { finalizers } });
    await hold([...(first.metadata.finalizers ?? []), 'test.dev/hold']);
    await plane.client.delete(RESOURCES.BulkExport, at(name));
    await begin();
    await waitFor(async () => (await run(1)).metadata.finalizers?.length === 1, BEFORE_ANY_LOOK);
    await waitFor(async () => (await jobs()).length === 0, BEFORE_ANY_LOOK);
    expect((await run(1)).metadata.uid).toBe(first.metadata.uid);
    await hold([]);
    await waitFor(async () => (await runs()).length === 3, BEFORE_ANY_LOOK);
    for (const day of [1, 2, 3]) await work(day);
    await waitFor(
      async () => isConditionTrue((await theExport()).status?.conditions, 'Completed'),
      BEFORE_ANY_LOOK,
    );
    expect((await run(1)).metadata.uid).not.toBe(first.metadata.uid);
  });

  it('never share an id, which is in the keys of their files', async () => {
    await begin();
    const id = await waitFor(
      async () => (await theExport()).metadata.annotations?.[ANNOTATION.id],
      BEFORE_ANY_LOOK,
    );
    const { spec, metadata } = await theExport();
    expect(id).toBe(metadata.uid);
    const former = name;
    name = `${former}-copy`;
    // of two of one second nobody knows which is older
    const nextSecondMs = Date.parse(metadata.creationTimestamp ?? '') + 1_000;
    await waitFor(() => Date.now() >= nextSecondMs, BEFORE_ANY_LOOK);
    await plane.client.create(RESOURCES.BulkExport, {
      metadata: { ...at(name), annotations: { [ANNOTATION.id]: id } },
      spec,
    });
    await under(1);
    const copy = await theExport();
    expect(copy.metadata.annotations?.[ANNOTATION.id]).toBe(copy.metadata.uid);
    expect((await run(1)).spec.exportId).toBe(copy.metadata.uid);
    for (const one of [former, name])
      await plane.client.merge(RESOURCES.BulkExport, at(one), { spec: { cancel: true } });
  });

  it('removes a Job whose run no longer exists, whatever deleted the run', async () => {
    const key = { namespace: SYSTEM, name: 'bxr-000000000000-1' };
    const labels = {
      [LABEL.export]: name,
      [LABEL.exportRun]: `${name}-20260501`,
      [LABEL.exportNamespace]: NAMESPACE,
    };
    await plane.client.create(SECRETS, { metadata: { ...key, labels }, data: {} });
    await plane.client.create(JOBS, {
      metadata: { ...key, labels },
      spec: {
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'export-worker', image: 'x' }] } },
      },
    });
    await waitFor(async () => (await jobs()).length === 0, BEFORE_ANY_LOOK);
    expect(await secrets()).toEqual([]);
  });

  it('waits for a missing Secret, and reports it', async () => {
    const { data } = await plane.client.get(SECRETS, at('store'));
    await plane.client.create(SECRETS, { metadata: at('fleeting'), ...(data ? { data } : {}) });
    const { spec } = await plane.client.get(RESOURCES.BulkExportDestination, at('local'));
    await plane.client.create(RESOURCES.BulkExportDestination, {
      metadata: at('other'),
      spec: { ...spec, credentialsSecretRef: { name: 'fleeting' } },
    });
    await waitFor(
      async () =>
        isConditionTrue(
          (await plane.client.get(RESOURCES.BulkExportDestination, at('other'))).status?.conditions,
          'Validated',
        ),
      BEFORE_ANY_LOOK,
    );
    // once its runs are made the export no longer looks at the destination, which would not be validated any more
    await begin('other', true);
    await saying(1, 'Running', 'Queued');
    expect(await exportSaying('True', 'Suspended')).toContain('until spec.suspend is false');
    await plane.client.delete(SECRETS, at('fleeting'));
    await plane.client.merge(RESOURCES.BulkExport, at(name), { spec: { suspend: false } });
    await saying(1, 'Running', 'CredentialsMissing');
    const problem = await exportSaying('False', 'CredentialsMissing');
    expect(problem).toBe(findCondition((await run(1)).status?.conditions, 'Running')?.message);
    expect(exportWireStatus(await theExport())).toBe('CREATED');
    expect([await wire(1), await jobs()]).toEqual(['CREATED', []]);
    await plane.client.create(SECRETS, { metadata: at('fleeting'), ...(data ? { data } : {}) });
    await work(1);
    await saying(1, 'Completed', 'Completed');
    await exportSaying('True', 'Started');
    await plane.client.merge(RESOURCES.BulkExport, at(name), { spec: { cancel: true } });
  });

  it('uses the credentials of the platform only while the Workspace allows it', async () => {
    const { spec } = await plane.client.get(RESOURCES.BulkExportDestination, at('local'));
    const { credentialsSecretRef: _, ...bare } = spec;
    await plane.client.create(RESOURCES.BulkExportDestination, { metadata: at('bare'), spec: bare });
    const validated = async () => {
      const { status } = await plane.client.get(RESOURCES.BulkExportDestination, at('bare'));
      return findCondition(status?.conditions, 'Validated');
    };
    const allow = (isAllowed: boolean) =>
      plane.client.merge(
        RESOURCES.Workspace,
        { name: NAMESPACE.slice('ws-'.length) },
        { spec: { allowEnvironmentCredentials: isAllowed } },
      );
    const refused = await waitFor(validated, BEFORE_ANY_LOOK);
    expect(refused).toMatchObject({
      status: 'False',
      reason: 'CredentialsMissing',
      message: expect.stringContaining('spec.allowEnvironmentCredentials of Workspace default'),
    });
    await allow(true);
    await waitFor(async () => (await validated())?.status === 'True', BEFORE_ANY_LOOK);
    await begin('bare', true);
    await saying(1, 'Running', 'Queued');
    await allow(false);
    await waitFor(async () => (await validated())?.reason === 'CredentialsMissing', BEFORE_ANY_LOOK);
    await plane.client.merge(RESOURCES.BulkExport, at(name), { spec: { suspend: false } });
    await saying(1, 'Running', 'CredentialsMissing');
    expect(await jobs()).toEqual([]);
    await plane.client.merge(RESOURCES.BulkExport, at(name), { spec: { cancel: true } });
  });

  it('keeps to the lower limits of the Workspace, and to the platform’s once these are lifted', async () => {
    await plane.limitWorkspace({ concurrentExports: 1, concurrentRunsPerExport: 1 });
    // what tests before have left to end counts as at work
    const { items } = await plane.client.list(RESOURCES.BulkExport, { namespace: NAMESPACE });
    const isEnded = ({ status }: BulkExport): boolean =>
      ['Completed', 'Failed'].some((type) => isConditionTrue(status?.conditions, type));
    for (const { metadata } of items.filter((one) => !isEnded(one)))
      await plane.client.merge(RESOURCES.BulkExport, at(metadata.name), { spec: { cancel: true } });
    const first = name;
    await begin();
    await under(1);
    // the platform's own limit is two
    await saying(2, 'Running', 'Queued');
    name = `${first}-next`;
    await begin();
    const accepted = async () => findCondition((await theExport()).status?.conditions, 'Accepted');
    await waitFor(async () => (await accepted())?.reason === 'Queued', BEFORE_ANY_LOOK);
    expect((await accepted())?.message).toContain('the workspace has 1 exports at work');
    expect(await runs()).toEqual([]);
    await plane.limitWorkspace(null);
    await under(1);
    await under(2);
    for (const one of [first, name])
      await plane.client.merge(RESOURCES.BulkExport, at(one), { spec: { cancel: true } });
  });

  it('writes nothing to exports that wait for their turn while others end and begin', async () => {
    await plane.limitWorkspace({ concurrentExports: 1 });
    const base = name;
    await begin();
    await under(1);
    const waiting = Array.from({ length: 8 }, (_, n) => `${base}-${n}`);
    for (name of waiting) {
      await begin();
      await waitFor(
        async () => findCondition((await theExport()).status?.conditions, 'Accepted')?.reason === 'Queued',
        BEFORE_ANY_LOOK,
      );
    }
    const version = async (one: string): Promise<string | undefined> =>
      (await plane.client.get(RESOURCES.BulkExport, at(one))).metadata.resourceVersion;
    const before = await version(waiting.at(-1) ?? '');
    let former = base;
    for (name of waiting.slice(0, -1)) {
      await plane.client.merge(RESOURCES.BulkExport, at(former), { spec: { cancel: true } });
      // in the order in which they were made, each woken by the end of the one before
      await under(1);
      former = name;
    }
    expect(await version(waiting.at(-1) ?? '')).toBe(before);
    for (const one of waiting)
      await plane.client.merge(RESOURCES.BulkExport, at(one), { spec: { cancel: true } });
    await plane.limitWorkspace(null);
  });

  it('leaves nothing behind when an export is deleted under way', async () => {
    await begin();
    await under(1);
    await under(2);
    const uids = (await runs()).map(({ metadata: { uid = '' } }) => uid);
    await plane.traces.exportProgress.claim(uids[0] ?? '', 1);
    await plane.client.delete(RESOURCES.BulkExport, at(name));
    await waitFor(async () => (await runs()).length === 0);
    expect([await jobs(), await secrets()]).toEqual([[], []]);
    for (const uid of uids) expect(await plane.traces.exportProgress.find(uid)).toBeUndefined();
  });

  it('count no attempt twice when the controller is killed at any time', async () => {
    await begin();
    const steps: (() => Promise<boolean>)[] = [
      async () => true,
      async () => (await runs()).length > 0,
      async () => (await jobs()).length > 0,
    ];
    for (const isReached of steps) {
      await waitFor(isReached, BEFORE_ANY_LOOK);
      await plane.program('controller').end('SIGKILL');
      await plane.startController();
    }
    for (const day of [1, 2, 3]) await work(day);
    await waitFor(
      async () => isConditionTrue((await theExport()).status?.conditions, 'Completed'),
      BEFORE_ANY_LOOK,
    );
    expect((await runs()).map(({ status }) => [status?.attempt, status?.errors])).toEqual([
      [1, undefined],
      [1, undefined],
      [1, undefined],
    ]);
  });

  it('reports the position of its workspace while the platform has no place for a run', async () => {
    await plane.program('controller').end('SIGTERM');
    await plane.startController({ AGENTPLANE_EXPORT_RUNS_OF_WORKER: '1', AGENTPLANE_EXPORT_ALL_RUNS: '1' });
    const first = name;
    await begin();
    // whichever day looks first has the place
    await waitFor(async () => (await jobs()).length === 1, BEFORE_ANY_LOOK);
    name = `${first}-next`;
    await begin();
    await saying(1, 'Running', 'AwaitingPlace');
    const message = await exportSaying('True', 'Queued');
    expect(message).toBe(findCondition((await run(1)).status?.conditions, 'Ready')?.message);
    expect(message).toContain('this workspace is next');
    expect([exportWireStatus(await theExport()), await wire(1)]).toEqual(['CREATED', 'CREATED']);
    await plane.client.merge(RESOURCES.BulkExport, at(first), { spec: { cancel: true } });
    await exportSaying('True', 'Started');
    await plane.client.merge(RESOURCES.BulkExport, at(name), { spec: { cancel: true } });
  });

  it('refuses endpoints that lead nowhere good', async () => {
    await plane.client.create(RESOURCES.BulkExportDestination, {
      metadata: at('metadata'),
      spec: {
        type: 'object_store',
        config: { bucketName: 'bucket', endpointUrl: 'http://169.254.169.254', includeBucketInPrefix: true },
        credentialsSecretRef: { name: 'store' },
      },
    });
    const { message } = await waitFor(
      async () =>
        findCondition(
          (await plane.client.get(RESOURCES.BulkExportDestination, at('metadata'))).status?.conditions,
          'Validated',
        ),
      BEFORE_ANY_LOOK,
    );
    expect(message).toBe('Invalid endpoint: no object store can have this address');
  });

  it('ends without a complaint', () => {
    expect(plane.complaints).toEqual([]);
  });
});
