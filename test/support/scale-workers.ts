import { type BulkExport, type BulkExportRun, isConditionTrue, JOBS, RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { type ControlPlane } from '../control-plane/control-plane.js';
import { inParallel } from './in-parallel.js';
import { SeenObjects } from './seen-objects.js';

const isCompleted = ({ status }: BulkExport | BulkExportRun): boolean =>
  isConditionTrue(status?.conditions, 'Completed');

/**
 * Plays the workers of all exports: each records at once that it has exported its runs.
 * @param make makes the exports
 * @returns figures of it
 */
export async function workExports(
  plane: ControlPlane,
  runs: number,
  exports: number,
  make: () => Promise<void>,
): Promise<Record<string, number>> {
  const { client, traces } = plane;
  const seen = await SeenObjects.from(client, RESOURCES.BulkExportRun);
  const all = await SeenObjects.from(client, RESOURCES.BulkExport);
  const jobs = await SeenObjects.from(client, JOBS);
  const done = new Set<string>();
  const completed = new Set<string>();
  let most = 0;
  const work = async (): Promise<boolean> => {
    most = Math.max(most, jobs.newest.size);
    const open: string[] = [];
    const placeOf = ({ metadata, spec }: BulkExportRun) => `${metadata.namespace}/${spec.exportName}`;
    const begun = new Set([...seen.newest.values()].filter(({ status }) => status?.attempt).map(placeOf));
    for (const run of seen.newest.values()) {
      const { uid = '' } = run.metadata;
      if (isCompleted(run)) completed.add(uid);
      else if (begun.has(placeOf(run)) && !done.has(uid)) open.push(uid);
    }
    await inParallel(open, 8, async (uid) => {
      await traces.exportProgress.claim(uid, 1);
      await traces.exportProgress.finish(uid, 1);
      done.add(uid);
    });
    const ended = [...all.newest.values()].filter(isCompleted).length;
    return completed.size >= runs && ended >= exports;
  };
  await make();
  await waitFor(work, { timeoutMs: 3_600_000, intervalMs: 250, what: 'every export run' });
  for (const one of [seen, all, jobs]) one.stop();
  return { 'Jobs in all': jobs.firstMs.size, 'Jobs at a time': most };
}
