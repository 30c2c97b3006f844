import type { Workspace } from '#lib/resources';
import type { ExportHistory } from './decide-archive.js';

const HOUR_MS = 3_600_000;

/** The lower of the platform's history and the workspace's. */
export function historyOf(platform: ExportHistory, { spec }: Workspace): ExportHistory {
  const hours = spec.limits?.exportHistoryHours;
  return hours === undefined ? platform : { ...platform, keptMs: Math.min(platform.keptMs, hours * HOUR_MS) };
}
