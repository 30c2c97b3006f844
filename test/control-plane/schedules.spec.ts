import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BulkExport, type BulkExportRun, findCondition, idOf, RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { type ControlPlane, NAMESPACE, testControlPlane } from './control-plane.js';

const HOUR_MS = 3_600_000;
/** Ticks come every ten seconds. */

describe('the controller’s schedules', () => {
  const start = testControlPlane();
  let plane: ControlPlane;
  let projectId: string;

  beforeAll(async () => {
    // the workers of this file do the run that they were made for
    plane = await start({ isForExports: true, controller: { AGENTPLANE_EXPORT_RUNS_OF_WORKER: '1' } });
    projectId = (await plane.traces.projects.ensure(plane.tenantId, 'p')).id;
  });
  afterAll(() => plane.stop());

  const at = (name: string) => ({ namespace: NAMESPACE, name });
  const get = (name: string): Promise<BulkExport> => plane.client.get(RESOURCES.BulkExport, at(name));
  const whole = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');
  const all = async (): Promise<readonly BulkExport[]> =>
    (await plane.client.list(RESOURCES.BulkExport, { namespace: NAMESPACE })).items;

  async function begin(name: string, startTime: string, spec: object = {}): Promise<string> {
    const made = await plane.client.create(RESOURCES.BulkExport, {
      metadata: at(name),
      spec: {
        destinationRef: { name: 'local' },
        tracingProject: { name: 'p' },
        startTime,
        intervalHours: 1,
        filter: 'eq(status, "error")',
        exportFields: ['id', 'start_time'],
        format: 'parquet',
        formatVersion: 'v1',
        compression: 'zstd',
        cancel: false,
        suspend: false,
        ...spec,
      },
    });
    return idOf(made) ?? '';
  }
  /** Its exports by window. */
  const childrenOf = async (id: string): Promise<readonly BulkExport[]> =>
    (await all())
      .filter(({ spec }) => spec.sourceExport?.id === id)
      .sort((a, b) => (a.spec.startTime ?? '').localeCompare(b.spec.startTime ?? ''));
  const windows = async (id: string) =>
    (await childrenOf(id)).map(({ spec }) => [spec.startTime, spec.endTime]);
  const hours = (startMs: number, many: number) =>
    Array.from({ length: many }, (_, at) => [
      whole(startMs + at * HOUR_MS),
      whole(startMs + (at + 1) * HOUR_MS),
    ]);
  const ready = async (name: string) => findCondition((await get(name)).status?.conditions, 'Ready');
  /** They give their places back. */
  async function cancelAll(id: string): Promise<void> {
    for (const { metadata } of await childrenOf(id))
      await plane.client.merge(RESOURCES.BulkExport, at(metadata.name), { spec: { cancel: true } });
  }
  /** A worker that does all of its work. @returns the run */
  async function work(child: BulkExport): Promise<BulkExportRun> {
    const run = await waitFor(async () => {
      const { items } = await plane.client.list(RESOURCES.BulkExportRun, { namespace: NAMESPACE });
      return items.find(
        ({ spec, status }) => spec.exportName === child.metadata.name && status?.attempt === 1,
      );
    });
    await plane.traces.exportProgress.claim(run.metadata.uid ?? '', 1);
    await plane.traces.exportProgress.finish(run.metadata.uid ?? '', 1);
    await waitFor(
      async () =>
        findCondition((await get(child.metadata.name)).status?.conditions, 'Completed')?.status === 'True',
      { what: `${child.metadata.name} to be completed` },
    );
    return run;
  }

  it('makes an export for each window that has ended, and what it carries', async () => {
    const startMs = Math.floor(Date.now() / 1000) * 1000 - 3 * HOUR_MS - 60_000;
    const id = await begin('three', whole(startMs));
    await waitFor(async () => (await childrenOf(id)).length === 3);
    expect(await windows(id)).toEqual(hours(startMs, 3));
    const [child] = await childrenOf(id);
    expect(child?.spec).toMatchObject({
      filter: 'eq(status, "error")',
      exportFields: ['id', 'start_time'],
      tracingProject: { id: projectId },
    });
    expect(child?.metadata.ownerReferences).toBeUndefined();
    const { status } = await waitFor(async () => {
      const found = await get('three');
      return found.status?.spawnedUntil === whole(startMs + 3 * HOUR_MS) && found;
    });
    expect(status).toMatchObject({
      nextSpawn: whole(startMs + 4 * HOUR_MS),
      windowsBehind: 0,
      tracingProjectName: 'p',
    });
    expect(await ready('three')).toMatchObject({ status: 'True', reason: 'Scheduled' });
    // the window ended a minute ago: its rows are read ten minutes after its end
    const last = (await childrenOf(id)).at(-1)?.metadata.name ?? '';
    await waitFor(async () => (await ready(last))?.reason === 'WaitingForWindow');
    await plane.client.merge(RESOURCES.BulkExport, at('three'), { spec: { cancel: true } });
    await waitFor(async () => (await ready('three'))?.reason === 'Cancelled');
    for (const one of await childrenOf(id))
      expect([one.spec.cancel, findCondition(one.status?.conditions, 'Failed')]).toEqual([false, undefined]);
    await plane.client.delete(RESOURCES.BulkExport, at('three'));
    expect(await windows(id)).toEqual(hours(startMs, 3));
    await cancelAll(id);
  });

  it('catches up in order and within the limit after an outage of the controller, without gap or overlap', async () => {
    await plane.program('controller').end('SIGKILL');
    const startMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 6 * HOUR_MS;
    const id = await begin('late', whole(startMs));
    await plane.startController({ AGENTPLANE_EXPORT_CONCURRENT_EXPORTS: '2' });
    await waitFor(async () => (await ready('late'))?.reason === 'CatchingUp');
    await waitFor(async () => (await childrenOf(id)).length === 2);
    expect((await get('late')).status?.windowsBehind).toBeGreaterThanOrEqual(4);
    for (let done = 0; done < 4; done++) {
      const children = await waitFor(async () => {
        const found = await childrenOf(id);
        return found.length > done && found;
      });
      // killed between any two steps it makes the same exports
      if (done === 1) {
        await plane.program('controller').end('SIGKILL');
        await plane.startController({ AGENTPLANE_EXPORT_CONCURRENT_EXPORTS: '2' });
      }
      const next = children[done];
      const run = next && (await work(next));
      const [startTime, endTime] = hours(startMs, 4)[done] ?? [];
      expect(run?.spec.exportWindow).toEqual({ startTime, endTime, scheduleId: id });
    }
    await waitFor(async () => (await childrenOf(id)).length >= 6);
    expect((await windows(id)).slice(0, 6)).toEqual(hours(startMs, 6));
    await plane.client.merge(RESOURCES.BulkExport, at('late'), { spec: { cancel: true } });
    await cancelAll(id);
  });

  it('makes nothing while it is suspended, then every window that ended meanwhile', async () => {
    const startMs = Math.floor(Date.now() / 1000) * 1000 - 2 * HOUR_MS - 900_000;
    const id = await begin('paused', whole(startMs), { suspend: true });
    await waitFor(async () => (await ready('paused'))?.reason === 'Suspended');
    expect((await get('paused')).status?.windowsBehind).toBe(2);
    expect(await windows(id)).toEqual([]);
    await plane.client.merge(RESOURCES.BulkExport, at('paused'), { spec: { suspend: false } });
    await waitFor(async () => (await childrenOf(id)).length === 2);
    expect(await windows(id)).toEqual(hours(startMs, 2));
    await cancelAll(id);
    await plane.client.merge(RESOURCES.BulkExport, at('paused'), { spec: { cancel: true } });
  });

  it('keeps to the lower limit of exports of the Workspace', async () => {
    const limit = (concurrentExports: number | null) => plane.limitWorkspace({ concurrentExports });
    await limit(1);
    const startMs = Math.floor(Date.now() / 1000) * 1000 - 2 * HOUR_MS - 900_000;
    const id = await begin('limited', whole(startMs));
    // with the first export already made
    const isAtLimit = async () => (await ready('limited'))?.message?.includes('as many as may run') === true;
    await waitFor(isAtLimit, { what: 'the schedule to be at its limit' });
    expect(await windows(id)).toEqual(hours(startMs, 1));
    await limit(null);
    await waitFor(async () => (await childrenOf(id)).length === 2);
    await plane.client.merge(RESOURCES.BulkExport, at('limited'), { spec: { cancel: true } });
    await cancelAll(id);
  });

  it('runs the open window on request, once for each request, and leaves its windows as they are', async () => {
    const startMs = Math.floor(Date.now() / 1000) * 1000 - 1_200_000;
    const id = await begin('asked', whole(startMs));
    const request = { id: '9a8b7c6d-0000-4000-8000-000000000002' };
    await plane.client.merge(RESOURCES.BulkExport, at('asked'), { spec: { runRequest: request } });
    await waitFor(async () => (await get('asked')).status?.handledRunRequestId === request.id);
    const [child, ...others] = await childrenOf(id);
    expect(others).toEqual([]);
    expect(child?.spec).toMatchObject({
      startTime: whole(startMs),
      sourceExport: { id, runRequestId: request.id },
    });
    expect(Date.parse(child?.spec.endTime ?? '')).toBeGreaterThan(startMs + 1_200_000 - 1);
    expect((await get('asked')).status).toMatchObject({
      spawnedUntil: whole(startMs),
      nextSpawn: whole(startMs + HOUR_MS),
    });
    // its rows come again with the window
    expect(child && (await work(child)).spec.exportWindow).not.toHaveProperty('scheduleId');
    await plane.client.merge(RESOURCES.BulkExport, at('asked'), { spec: { cancel: true } });
  });

  it.each<[object, string]>([
    [{ intervalHours: 0 }, 'intervalHours'],
    [{ intervalHours: 169 }, 'intervalHours'],
    [{ endTime: '2026-05-02T00:00:00Z' }, 'give exactly one of'],
    [
      { intervalHours: undefined, last: '1h', startTime: undefined, runRequest: { id: randomUUID() } },
      'runRequest needs intervalHours',
    ],
  ])('refuses %j', async (spec, message) => {
    await expect(begin('wrong', '2026-05-01T00:00:00Z', spec)).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining(message),
    });
  });
});
