import { type BulkExport, exportWireStatus, isFinishedExport } from '#lib/resources';
import type { RenderedSchedule } from './rendered-export.js';

/** Position of a schedule; null for every other export. */
export function renderSchedule(bulkExport: BulkExport, now: Date): RenderedSchedule | null {
  const { spec, status } = bulkExport;
  if (spec.intervalHours === undefined) return null;
  const isLive = !isFinishedExport(exportWireStatus(bulkExport));
  const end = isLive ? status?.nextSpawn : undefined;
  const lateMs = end === undefined ? 0 : now.getTime() - Date.parse(end);
  return {
    paused: spec.suspend,
    next_start_time: isLive ? (status?.spawnedUntil ?? null) : null,
    next_end_time: end ?? null,
    windows_behind: isLive ? (status?.windowsBehind ?? 0) : 0,
    lag_seconds: Math.max(0, Math.floor(lateMs / 1000)),
    unfinished_exports: status?.unfinishedExports ?? 0,
  };
}
