import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubeObject, ResourceRef } from '#lib/resources';
import { isConditionTrue, RESOURCES } from '#lib/resources';
import { freePort, waitFor } from '#lib/testing';
import { type ControlPlane, NAMESPACE, testControlPlane } from './control-plane.js';

/** Controllers that look at an export and its runs. */
const CONTROLLERS = ['bulk-export', 'bulk-export-run', 'export-archive'];

describe('an export of one day', () => {
  const start = testControlPlane();
  let plane: ControlPlane;
  let port: number;

  beforeAll(async () => {
    port = await freePort();
    plane = await start({ isForExports: true, controller: { AGENTPLANE_INTERNAL_PORT: String(port) } });
  });
  afterAll(() => plane.stop());

  async function passes(): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return text
      .split('\n')
      .map((line) => /^agentplane_reconcile_passes_total\{controller="([^"]*)".*\} (\d+)$/.exec(line))
      .reduce((sum, found) => sum + (CONTROLLERS.includes(found?.[1] ?? '') ? Number(found?.[2]) : 0), 0);
  }

  /** Collects the statuses that objects of a kind get, until it is ended. */
  function collect<T extends KubeObject & { readonly status?: object }>(
    ref: ResourceRef<T>,
    signal: AbortSignal,
  ): { readonly statuses: readonly string[]; readonly opened: Promise<void> } {
    const statuses: string[] = [];
    const { promise: opened, resolve: onOpen } = Promise.withResolvers<void>();
    void (async () => {
      for await (const event of plane.client.watch(ref, { namespace: NAMESPACE, signal, onOpen }))
        if (event.type === 'MODIFIED' && event.object.status) {
          const status = JSON.stringify(event.object.status);
          if (statuses.at(-1) !== status) statuses.push(status);
        }
    })();
    return { statuses, opened };
  }

  it('needs few passes, and few writes of its status and of that of its run', async () => {
    const { id } = await plane.traces.projects.ensure(plane.tenantId, 'p');
    const end = new AbortController();
    const [exports, runs] = [
      collect(RESOURCES.BulkExport, end.signal),
      collect(RESOURCES.BulkExportRun, end.signal),
    ];
    await Promise.all([exports.opened, runs.opened]);
    const before = await passes();
    await plane.client.create(RESOURCES.BulkExport, {
      metadata: { namespace: NAMESPACE, name: 'tiny' },
      spec: {
        destinationRef: { name: 'local' },
        tracingProject: { id },
        cancel: false,
        suspend: false,
        startTime: '2026-05-01T00:00:00Z',
        endTime: '2026-05-02T00:00:00Z',
        format: 'parquet',
        formatVersion: 'v1',
        compression: 'zstd',
      },
    });
    const uid = await waitFor(async () => {
      const [run] = (await plane.client.list(RESOURCES.BulkExportRun, { namespace: NAMESPACE })).items;
      return run?.status?.attempt === 1 && run.metadata.uid;
    });
    // a worker that does all of its work
    await plane.traces.exportProgress.claim(uid, 1);
    await plane.traces.exportProgress.finish(uid, 1);
    await waitFor(async () => {
      const { status } = await plane.client.get(RESOURCES.BulkExport, { namespace: NAMESPACE, name: 'tiny' });
      return isConditionTrue(status?.conditions, 'Completed');
    });
    await waitFor(() => exports.statuses.at(-1)?.includes('every day is completed'));
    end.abort();
    expect(exports.statuses.length + runs.statuses.length).toBeLessThanOrEqual(6);
    expect((await passes()) - before).toBeLessThanOrEqual(15);
  });
});
