import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ANNOTATION,
  type BulkExport,
  idOf,
  JOBS,
  PODS,
  RESOURCES,
  SECRETS,
  type ResourceRef,
} from '#lib/resources';
import type { Untyped } from '#lib/kube';
import { waitFor } from '#lib/testing';
import { type ControlPlane, NAMESPACE, SYSTEM, testControlPlane } from './control-plane.js';

const HOUR_MS = 3_600_000;
/** Ended exports that the API server keeps here. */
const KEPT = 3;
const WINDOWS = 12;

describe('the history of exports', () => {
  const start = testControlPlane();
  let plane: ControlPlane;
  let rest: (path: string) => Promise<Response>;

  beforeAll(async () => {
    plane = await start({
      isForExports: true,
      controller: {
        AGENTPLANE_EXPORT_HISTORY_COUNT: String(KEPT),
        AGENTPLANE_EXPORT_CONCURRENT_EXPORTS: '2',
      },
    });
    await plane.traces.projects.ensure(plane.tenantId, 'p');
    const { key } = await plane.traces.apiKeys.mint(plane.tenantId, { name: 'test', scope: 'workspace' });
    const url = await plane.startApi();
    rest = (path) =>
      fetch(`${url}/api/v1/bulk-exports${path}`, {
        headers: { 'X-API-Key': key, 'X-Tenant-Id': plane.tenantId },
      });
  });
  afterAll(() => plane.stop());

  const count = async (ref: ResourceRef, namespace: string): Promise<number> =>
    (await plane.client.list(ref as ResourceRef<Untyped>, { namespace })).items.length;

  /**
   * Workers that do all of their work, until every window has its export and all have ended. The worker of a window over
   * midnight takes the second day after the first.
   */
  async function workThrough(id: string, ids: Set<string>): Promise<number> {
    let most = 0;
    await waitFor(
      async () => {
        const { items } = await plane.client.list(RESOURCES.BulkExport, { namespace: NAMESPACE });
        most = Math.max(most, items.length);
        for (const one of items) if (one.spec.sourceExport?.id === id) ids.add(idOf(one) ?? '');
        const runs = (await plane.client.list(RESOURCES.BulkExportRun, { namespace: NAMESPACE })).items;
        const begun = new Set(
          runs.filter(({ status }) => status?.attempt === 1).map((run) => run.spec.exportName),
        );
        for (const { metadata, spec, status } of runs)
          if (
            begun.has(spec.exportName) &&
            !(status?.conditions ?? []).some(({ type }) => type === 'Completed')
          )
            try {
              await plane.traces.exportProgress.claim(metadata.uid ?? '', 1);
              await plane.traces.exportProgress.finish(metadata.uid ?? '', 1);
            } catch {
              // it has ended already
            }
        return ids.size >= WINDOWS && items.length <= KEPT + 1;
      },
      { what: 'every window to be exported and archived' },
    );
    return most;
  }

  it('keeps the objects of a long schedule bounded, and every export found by REST with the same words', async () => {
    // the last window ended ten minutes ago and more
    const startMs = Math.floor(Date.now() / 1000) * 1000 - WINDOWS * HOUR_MS - 700_000;
    const made = await plane.client.create(RESOURCES.BulkExport, {
      metadata: { namespace: NAMESPACE, name: 'hourly' },
      spec: {
        destinationRef: { name: 'local' },
        tracingProject: { name: 'p' },
        startTime: new Date(startMs).toISOString(),
        intervalHours: 1,
      } as unknown as BulkExport['spec'],
    });
    const id = idOf(made) ?? '';
    const ids = new Set<string>();
    const most = await workThrough(id, ids);
    // the schedule, what is kept, what runs, and a few that are about to be deleted
    expect(most).toBeLessThanOrEqual(1 + KEPT + 2 + 3);
    await waitFor(async () => (await count(RESOURCES.BulkExportRun, NAMESPACE)) <= KEPT * 2);
    for (const ref of [JOBS, PODS, SECRETS] as const)
      await waitFor(async () => (await count(ref, SYSTEM)) <= 2, { what: `no more ${ref.kind}` });

    const listed = (await (await rest('')).json()) as { id: string; source_bulk_export_id: string | null }[];
    expect(listed.filter((one) => one.source_bulk_export_id === id)).toHaveLength(WINDOWS);
    expect(new Set(listed.map((one) => one.id)).size).toBe(WINDOWS + 1);
    const pages = [];
    for (let offset = 0; offset <= WINDOWS; offset += 5)
      pages.push(...((await (await rest(`?limit=5&offset=${offset}`)).json()) as { id: string }[]));
    expect(pages.map((one) => one.id)).toEqual(listed.map((one) => one.id));
    for (const one of ids) {
      const answer = await rest(`/${one}`);
      expect([answer.status, await answer.json()]).toEqual([
        200,
        expect.objectContaining({ id: one, status: 'COMPLETED', status_reason: 'Completed', percent: 100 }),
      ]);
      const runs = (await (await rest(`/${one}/runs`)).json()) as { id: string; status: string }[];
      expect(runs.length).toBeGreaterThan(0);
      for (const run of runs) {
        expect(run.status).toBe('COMPLETED');
        expect((await rest(`/${one}/runs/${run.id}`)).status).toBe(200);
      }
    }
    // a manifest with the id of an archived export is another export
    const [archivedId = ''] = [...ids];
    await plane.client.create(RESOURCES.BulkExport, {
      metadata: { namespace: NAMESPACE, name: 'again', annotations: { [ANNOTATION.id]: archivedId } },
      spec: {
        destinationRef: { name: 'local' },
        tracingProject: { name: 'p' },
        suspend: true,
        startTime: '2026-05-01T00:00:00Z',
        endTime: '2026-05-02T00:00:00Z',
      } as unknown as BulkExport['spec'],
    });
    const again = { namespace: NAMESPACE, name: 'again' };
    await waitFor(async () => {
      const one = await plane.client.get(RESOURCES.BulkExport, again);
      return idOf(one) === one.metadata.uid;
    });
    // what is archived counts as made: nothing of it is made again
    await plane.program('controller').end('SIGKILL');
    await plane.startController({ AGENTPLANE_EXPORT_HISTORY_COUNT: String(KEPT) });
    const { status } = await plane.client.get(RESOURCES.BulkExport, { namespace: NAMESPACE, name: 'hourly' });
    expect(status?.windowsBehind).toBe(0);
  });
});
