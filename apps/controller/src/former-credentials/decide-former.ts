import type { BulkExport, BulkExportDestination, BulkExportRun, FormerCredentials } from '#lib/resources';
import { isFinished } from '../bulk-export/export-phase.js';

/** Everything that the former credentials of one destination depend on. */
export interface FormerWorld {
  readonly former: readonly FormerCredentials[];
  /** Destinations of the workspace. */
  readonly destinations: readonly BulkExportDestination[];
  readonly exports: readonly BulkExport[];
  readonly runs: readonly BulkExportRun[];
  readonly now: Date;
}

export interface FormerDecision {
  /** Names of Secrets that nothing needs. */
  readonly unneeded: readonly string[];
  /** Delay in milliseconds until the others are checked again; undefined when there are none. */
  readonly lookMs: number | undefined;
}

/**
 * An export that begins reads its destination from a cache and makes runs of it afterwards: for so long it may name what
 * was current a moment ago. Caches lag by seconds.
 */
const SETTLED_MS = 600_000;
/** A day that has not ended may need them for hours. */
const LOOK_MS = 60_000;

/**
 * Decides which former Secrets nothing needs any more. Later runs of an export go where its first one goes, so a run that
 * has ended still names what its export needs.
 */
export function decideFormer({ former, destinations, exports, runs, now }: FormerWorld): FormerDecision {
  const unfinished = new Set(exports.filter((one) => !isFinished(one)).map(({ metadata }) => metadata.name));
  const needed = new Set(destinations.map(({ spec }) => spec.credentialsSecretRef?.name));
  for (const run of runs)
    if (!isFinished(run) || unfinished.has(run.spec.exportName))
      needed.add(run.spec.destination.credentialsSecretName);
  const settledMs = (since: string): number => Date.parse(since) + SETTLED_MS - now.getTime();
  const unneeded = former
    .filter(({ secretName, since }) => settledMs(since) <= 0 && !needed.has(secretName))
    .map(({ secretName }) => secretName);
  const looks = former
    .filter(({ secretName }) => !unneeded.includes(secretName))
    .map(({ since }) => Math.max(settledMs(since), LOOK_MS));
  return { unneeded, lookMs: looks.length === 0 ? undefined : Math.min(...looks) };
}
