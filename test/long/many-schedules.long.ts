import { randomUUID } from 'node:crypto';
import type { Untyped } from '#lib/kube';
import {
  type BulkExport,
  type BulkExportRun,
  EVENTS,
  idOf,
  isConditionTrue,
  JOBS,
  LABEL,
  PODS,
  type ResourceRef,
  RESOURCES,
  SECRETS,
} from '#lib/resources';
import { waitFor } from '#lib/testing';
import { type ControlPlane, NAMESPACE, SYSTEM, testControlPlane } from '../control-plane/control-plane.js';

const WORKSPACES = Number(process.env.SCHEDULE_WORKSPACES ?? 50);
/** Of each schedule. */
const WINDOWS = Number(process.env.SCHEDULE_WINDOWS ?? 24);
/** Ended exports of a workspace that the API server keeps here. */
const KEPT = 5;
const AT_WORK = 2;
const HOUR_MS = 3_600_000;
const PATIENT = { timeoutMs: 120_000 };

interface ScheduledWorkspace {
  readonly namespace: string;
  readonly tenantId: string;
  /** Of the schedule. */
  readonly id: string;
}

type Counts = Readonly<Record<string, number>>;

/** What the API server holds of all workspaces, by kind. */
const KINDS: readonly (readonly [string, ResourceRef, string?])[] = [
  ['exports', RESOURCES.BulkExport],
  ['runs', RESOURCES.BulkExportRun],
  ['Jobs', JOBS, SYSTEM],
  ['pods', PODS, SYSTEM],
  ['Secrets', SECRETS, SYSTEM],
  ['Events', EVENTS],
];

const isCompleted = ({ status }: BulkExport | BulkExportRun): boolean =>
  isConditionTrue(status?.conditions, 'Completed');

/**
 * Hourly schedules of many workspaces with the real API server, controller and archive; workers that record at once that
 * they have exported everything. `decide-archive.spec.ts` goes through the hours of a year without servers.
 */
describe('hourly schedules of many workspaces', () => {
  const start = testControlPlane();
  const workspaces: ScheduledWorkspace[] = [];
  let plane: ControlPlane;
  let url: string;

  beforeAll(async () => {
    plane = await start({
      isForExports: true,
      controller: {
        AGENTPLANE_EXPORT_HISTORY_COUNT: String(KEPT),
        AGENTPLANE_EXPORT_CONCURRENT_EXPORTS: String(AT_WORK),
      },
    });
    url = await plane.startApi();
  });
  afterAll(() => plane.stop());

  async function addWorkspace(number: number): Promise<string> {
    if (number === 0) return NAMESPACE;
    const name = `w${number}`;
    const namespace = `ws-${name}`;
    await plane.client.create(RESOURCES.Workspace, {
      metadata: { name },
      spec: { tenantId: randomUUID(), plan: 'enterprise' },
    });
    const at = { namespace: NAMESPACE, name: 'local' };
    const { spec } = await plane.client.get(RESOURCES.BulkExportDestination, at);
    const { data } = await plane.client.get(SECRETS, { namespace: NAMESPACE, name: 'store' });
    const isReady = async () => {
      const { status } = await plane.client.get(RESOURCES.Workspace, { name });
      return isConditionTrue(status?.conditions, 'Ready');
    };
    await waitFor(isReady, { ...PATIENT, what: `workspace ${name}` });
    await plane.client.create(SECRETS, { metadata: { namespace, name: 'store' }, ...(data ? { data } : {}) });
    await plane.client.create(RESOURCES.BulkExportDestination, { metadata: { ...at, namespace }, spec });
    return namespace;
  }

  /** A workspace with a schedule whose last window ended ten minutes ago and more. */
  async function addSchedule(number: number): Promise<void> {
    const namespace = await addWorkspace(number);
    const { spec } = await plane.client.get(RESOURCES.Workspace, { name: namespace.slice('ws-'.length) });
    await plane.traces.projects.ensure(spec.tenantId, 'p');
    const startMs = Math.floor(Date.now() / 1000) * 1000 - WINDOWS * HOUR_MS - 700_000;
    const made = await plane.client.create(RESOURCES.BulkExport, {
      metadata: { namespace, name: 'hourly' },
      spec: {
        destinationRef: { name: 'local' },
        tracingProject: { name: 'p' },
        startTime: new Date(startMs).toISOString(),
        intervalHours: 1,
      } as unknown as BulkExport['spec'],
    });
    workspaces.push({ namespace, tenantId: spec.tenantId, id: idOf(made) ?? '' });
  }

  async function count(): Promise<Counts> {
    const counts: Record<string, number> = {};
    for (const [name, ref, namespace] of KINDS) {
      const at = namespace === undefined ? {} : { namespace };
      counts[name] = (await plane.client.list(ref as ResourceRef<Untyped>, at)).items.length;
    }
    return counts;
  }

  /** Workers that do all of their work at once. @returns how many exports of the schedules were seen to end so far */
  async function workAll(ended: Set<string>): Promise<number> {
    const runs = (await plane.client.list(RESOURCES.BulkExportRun, {})).items;
    const placeOf = ({ metadata, spec }: BulkExportRun) => `${metadata.namespace}/${spec.exportName}`;
    const begun = new Set(runs.filter(({ status }) => status?.attempt === 1).map(placeOf));
    for (const run of runs) {
      const { uid = '' } = run.metadata;
      if (!begun.has(placeOf(run)) || isCompleted(run)) continue;
      if ((await plane.traces.exportProgress.find(uid))?.state === 'completed') continue;
      await plane.traces.exportProgress.claim(uid, 1);
      await plane.traces.exportProgress.finish(uid, 1);
    }
    await endWorkers();
    for (const one of (await plane.client.list(RESOURCES.BulkExport, {})).items)
      if (one.spec.sourceExport && isCompleted(one)) ended.add(one.metadata.uid ?? '');
    return ended.size;
  }

  /** One that takes a second day after the first ends on its own; of others the Job goes with the run. */
  async function endWorkers(): Promise<void> {
    const [runs, pods] = await Promise.all([
      plane.client.list(RESOURCES.BulkExportRun, {}),
      plane.client.list(PODS, { namespace: SYSTEM, labelSelector: LABEL.attempt }),
    ]);
    const open = new Set(
      runs.items
        .filter((run) => !isCompleted(run))
        .map(({ metadata, spec }) => `${metadata.namespace}/${spec.exportName}`),
    );
    const terminated = { exitCode: 0, finishedAt: new Date().toISOString() };
    for (const pod of pods.items) {
      const { labels = {}, deletionTimestamp } = pod.metadata;
      const isOpen = open.has(`${labels[LABEL.exportNamespace]}/${labels[LABEL.export]}`);
      if (isOpen || deletionTimestamp !== undefined || pod.status?.phase === 'Succeeded') continue;
      // it may have been deleted a moment ago
      await plane.reportPod(pod, { ready: false, state: { terminated } }, 'Succeeded').catch(() => undefined);
    }
  }

  async function expectFoundByRest({ tenantId, id }: ScheduledWorkspace): Promise<void> {
    const { key } = await plane.traces.apiKeys.mint(tenantId, { name: 'test', scope: 'workspace' });
    const rest = async <T>(path: string): Promise<T> => {
      const answer = await fetch(`${url}/api/v1/bulk-exports${path}`, { headers: { 'x-api-key': key } });
      expect(answer.status).toBe(200);
      return (await answer.json()) as T;
    };
    const listed: { id: string; status: string; source_bulk_export_id: string | null }[] = [];
    for (let offset = 0; listed.length === offset; offset += 10)
      listed.push(...(await rest<typeof listed>(`?limit=10&offset=${offset}`)));
    const children = listed.filter((one) => one.source_bulk_export_id === id);
    expect(new Set(children.map((one) => one.id)).size).toBe(WINDOWS);
    expect(children.map(({ status }) => status)).toEqual(Array(WINDOWS).fill('COMPLETED'));
    for (const child of [children[0], children.at(-1)])
      expect(await rest<unknown[]>(`/${child?.id}/runs`)).not.toHaveLength(0);
  }

  it('bounds the objects, and shows every export by REST', async () => {
    for (let number = 0; number < WORKSPACES; number++) await addSchedule(number);
    const ended = new Set<string>();
    const most: Record<string, number> = {};
    const began = Date.now();
    let middle: Counts = {};
    await waitFor(
      async () => {
        const found = await workAll(ended);
        const counts = await count();
        for (const [name, n] of Object.entries(counts)) most[name] = Math.max(most[name] ?? 0, n);
        if (found <= (WORKSPACES * WINDOWS) / 2) middle = { ...most };
        return found === WORKSPACES * WINDOWS;
      },
      { timeoutMs: 3_600_000, intervalMs: 200, what: 'every window to be exported' },
    );
    process.stderr.write(
      `| ${WORKSPACES} × ${WINDOWS} exports in ${((Date.now() - began) / 1000).toFixed(0)} s; most of each kind: ${JSON.stringify(most)}, in the first half ${JSON.stringify(middle)} |\n`,
    );
    // of each: the schedule, what is kept, what is at work, and a few that are about to be deleted
    const exports = WORKSPACES * (1 + KEPT + AT_WORK + 3);
    expect(most['exports']).toBeLessThanOrEqual(exports);
    expect(most['runs']).toBeLessThanOrEqual(2 * exports);
    // attempts of what is at work, and of what has just ended
    for (const name of ['Jobs', 'pods', 'Secrets'])
      expect(most[name]).toBeLessThanOrEqual(WORKSPACES * 2 * (AT_WORK + 3) + 10);
    await waitFor(
      async () => {
        await endWorkers();
        const left = await count();
        const bound: Counts = {
          exports: WORKSPACES * (1 + KEPT),
          runs: WORKSPACES * KEPT * 2,
          Jobs: 0,
          pods: 0,
        };
        const isLeft = Object.entries(bound).some(([name, n]) => (left[name] ?? 0) > n);
        if (isLeft) throw new Error(JSON.stringify(left));
        return true;
      },
      { ...PATIENT, what: 'the past to be cleared away' },
    );
    for (const workspace of workspaces) await expectFoundByRest(workspace);
  });
});
