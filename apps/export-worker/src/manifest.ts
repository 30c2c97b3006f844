import { formatInstant } from '#lib/time';
import type { ExportFile, ExportResource } from '#lib/trace-store';
import type { ExportTask } from './export-task.js';

/** The object that is written last: its readers see exactly the files that belong to the partition. */
export function renderManifest(task: ExportTask, files: readonly ExportFile[]): string {
  const { startTime, endTime } = task.spec;
  return render(task, { startTime, endTime }, files);
}

/** The manifest of a whole export, which exists once all of its days are exported. */
export function renderExportManifest(
  task: ExportTask,
  manifests: readonly string[],
  files: readonly ExportFile[],
): string {
  return render(task, { ...task.spec.exportWindow, status: 'COMPLETED', manifests }, files);
}

function render({ spec, resources }: ExportTask, about: object, files: readonly ExportFile[]): string {
  const of = (wanted: ExportResource): object =>
    contentsOf(files.filter(({ resource = 'runs' }) => resource === wanted));
  const manifest = {
    version: 1,
    exportId: spec.exportId,
    tenantId: spec.tenantId,
    projectId: spec.projectId,
    ...about,
    format: spec.format,
    formatVersion: spec.formatVersion,
    compression: spec.compression,
    ...of('runs'),
    feedback: resources.includes('feedback') ? of('feedback') : undefined,
  };
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/** Files of one resource. */
function contentsOf(files: readonly ExportFile[]): object {
  const sum = (of: (file: ExportFile) => number): number =>
    files.reduce((total, file) => total + of(file), 0);
  return {
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
}
