import { formatInstant } from '#lib/time';
import { type ExportFile } from '#lib/trace-store';
import type { ExportTask } from './export-task.js';

/** The object that is written last: its readers see exactly the files that belong to the partition. */
export function renderManifest({ spec }: ExportTask, files: readonly ExportFile[]): string {
  const sum = (of: (file: ExportFile) => number): number =>
    files.reduce((total, file) => total + of(file), 0);
  const manifest = {
    version: 1,
    exportId: spec.exportId,
    tenantId: spec.tenantId,
    projectId: spec.projectId,
    startTime: spec.startTime,
    endTime: spec.endTime,
    format: spec.format,
    formatVersion: spec.formatVersion,
    compression: spec.compression,
    rows: sum(({ rows }) => rows),
    bytes: sum(({ bytes }) => bytes),
    files: files.map(({ key, rows, bytes, etag, sha256, minStartTime, maxStartTime }) => ({
      key,
      rows,
      bytes,
      etag,
      sha256,
      minStartTime: minStartTime === undefined ? undefined : formatInstant(minStartTime),
      maxStartTime: maxStartTime === undefined ? undefined : formatInstant(maxStartTime),
    })),
  };
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}
