import {
  type BulkExport,
  type BulkExportRun,
  exportRunWireStatus,
  exportStatusReason,
  exportWireStatus,
  idOf,
  isFinishedExport,
  statusReason,
} from '#lib/resources';
import { formatInstant } from '#lib/time';
import { type ExportProgressRecord, writtenSoFar } from '#lib/trace-store';
import { renderReason } from '../wire/render-reason.js';
import type { ExportAnswer, ExportRunAnswer } from './export-answer.js';
import { renderSchedule } from './render-schedule.js';

/** Ids of the wire that a BulkExport refers to by name. */
export interface ExportLinks {
  readonly tenantId: string;
  readonly destinationId: string | null;
  readonly now: Date;
}

function updatedAt(object: BulkExport | BulkExportRun): string {
  const { metadata, status } = object;
  const changes = (status?.conditions ?? []).map((condition) => condition.lastTransitionTime).sort();
  return changes.at(-1) ?? metadata.creationTimestamp ?? '';
}

/** An export on the wire. */
export function renderExport(bulkExport: BulkExport, links: ExportLinks): ExportAnswer {
  const { metadata, spec, status } = bulkExport;
  const wireStatus = exportWireStatus(bulkExport);
  const source = spec.sourceExport;
  return {
    id: idOf(bulkExport) ?? '',
    tenant_id: links.tenantId,
    bulk_export_destination_id: links.destinationId,
    session_id: status?.tracingProjectId ?? spec.tracingProject.id ?? null,
    start_time: spec.startTime ?? status?.startTime ?? null,
    end_time: spec.endTime ?? (spec.intervalHours === undefined ? status?.endTime : undefined) ?? null,
    filter: spec.filter ?? null,
    format: spec.format === 'jsonl' ? 'JSONL' : 'Parquet',
    format_version: spec.formatVersion,
    compression: spec.compression,
    resources: spec.resources ?? ['runs'],
    export_fields: spec.exportFields ?? null,
    interval_hours: spec.intervalHours ?? null,
    status: wireStatus,
    ...renderReason(exportStatusReason(bulkExport)),
    rows_exported: status?.rows ?? 0,
    percent: wireStatus === 'COMPLETED' ? 100 : (status?.percent ?? 0),
    created_at: metadata.creationTimestamp ?? '',
    updated_at: updatedAt(bulkExport),
    finished_at: isFinishedExport(wireStatus) ? (status?.finishedAt ?? null) : null,
    source_bulk_export_id: source?.id ?? null,
    continues_bulk_export_id: spec.continues?.id ?? null,
    source_trigger: source ? (source.runRequestId === undefined ? 'interval' : 'request') : null,
    schedule: renderSchedule(bulkExport, links.now),
  };
}

/** A run of an export on the wire. Progress comes from the store, the rest from the resource. */
export function renderExportRun(
  run: BulkExportRun,
  exportId: string,
  progress: ExportProgressRecord | undefined,
  keys: readonly string[],
): ExportRunAnswer {
  const { metadata, spec, status } = run;
  const wireStatus = exportRunWireStatus(run);
  const hasEnded = isFinishedExport(wireStatus);
  const rows = rowsOf(run, progress, hasEnded);
  const { bucketName, prefix } = spec.destination.config;
  const cursor = progress?.cursor;
  return {
    id: idOf(run) ?? '',
    bulk_export_id: exportId,
    status: wireStatus,
    ...renderReason(statusReason(run)),
    retry_number: Math.max(0, (status?.attempt ?? 1) - 1),
    errors: status?.errors ?? null,
    rows_exported: rows,
    percent: wireStatus === 'COMPLETED' ? 100 : (status?.percent ?? 0),
    start_time: spec.startTime,
    end_time: spec.endTime,
    created_at: metadata.creationTimestamp ?? '',
    updated_at: progress?.updatedAt.toISOString() ?? updatedAt(run),
    finished_at: status?.finishedAt ?? null,
    metadata: {
      prefix: prefix ?? '',
      start_time: spec.startTime,
      end_time: spec.endTime,
      result: {
        rows_written: progress?.rows ?? status?.rows ?? 0,
        feedback_rows_written: progress?.feedbackRows ?? status?.feedbackRows ?? 0,
        exported_files: keys.map((key) => `${bucketName}/${key}`),
        export_path: folderOf(keys[0], bucketName),
        latest_cursor: cursor ? `${formatInstant(cursor.startTime)}/${cursor.id}` : null,
      },
    },
  };
}

/** Of a run under way what was written so far, which is never less than its resource says; else what is in the bucket. */
function rowsOf(
  { status }: BulkExportRun,
  progress: ExportProgressRecord | undefined,
  hasEnded: boolean,
): number {
  if (!progress) return status?.rows ?? 0;
  return hasEnded ? progress.rows : Math.max(writtenSoFar(progress).rows, status?.rows ?? 0);
}

function folderOf(key: string | undefined, bucket: string): string | null {
  return key === undefined ? null : `${bucket}/${key.slice(0, key.lastIndexOf('/'))}`;
}
