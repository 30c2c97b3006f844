import type { Informer } from '#lib/kube';
import type { BulkExportRun } from '#lib/resources';
import { metrics } from '#lib/telemetry';
import { type Clock, systemClock } from '#lib/time';
import { isFinished } from '../bulk-export/export-phase.js';
import type { RunDecision } from './decide.js';
import { attemptOf, type ExportRunWorld } from './world.js';

/** Counts what a pass decided; to be called when the status that says so was written, which happens once. */
export function countDecision(
  decision: RunDecision,
  { run, progress }: Pick<ExportRunWorld, 'run' | 'progress'>,
): void {
  // claimed by a worker that had taken others before
  const isClaimed = (run.status?.attempt ?? 0) === 0 && attemptOf({ run, progress }) > 0;
  if (isClaimed) metrics.exportAttempts.add(1, { kind: 'first' });
  switch (decision.kind) {
    case 'start':
      return metrics.exportAttempts.add(1, { kind: decision.attempt > 1 ? 'retry' : 'first' });
    case 'complete':
      metrics.exportRows.add(progress?.rows ?? 0);
      metrics.exportBytes.add(progress?.bytes ?? 0);
      return metrics.exportRuns.add(1, { outcome: 'completed' });
    case 'fail':
      return metrics.exportRuns.add(1, { outcome: 'failed' });
    case 'queue':
    case 'ensureJob':
    case 'watch':
    case 'pause':
    case 'block':
    case 'finished':
      return;
    default:
      decision satisfies never;
  }
}

/** Lets a scrape read how old the oldest export run is that has not ended. */
export function readExportLag(
  runs: Pick<Informer<BulkExportRun>, 'list'>,
  clock: Clock = systemClock,
): () => void {
  return metrics.exportLag.read(() => {
    const nowMs = clock.now().getTime();
    const ages = runs
      .list()
      .filter((run) => !isFinished(run))
      .map(({ metadata }) => nowMs - Date.parse(metadata.creationTimestamp ?? ''));
    return Math.max(0, ...ages.filter((age) => !Number.isNaN(age))) / 1000;
  });
}
