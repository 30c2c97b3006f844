import { updatedAt } from '#lib/export-plan';
import {
  type BulkExportRun,
  exportRunWireStatus,
  idOf,
  isFinishedExport,
  statusReason,
} from '#lib/resources';
import { formatInstant } from '#lib/time';
import { type ExportProgressRecord, writtenSoFar } from '#lib/trace-store';
import { vendorWord } from '../wire/vocabulary.js';
import { renderReason } from '../wire/render-reason.js';
import type { ExportRunAnswer } from './export-answer.js';

/** A run of an export on the wire. Progress comes from the store, the rest from the resource. */
export function renderExportRun(
  run: BulkExportRun,
  exportId: string,
  progress: ExportProgressRecord | undefined,
  keys: readonly string[],
  { sessionId, isVendors }: { readonly sessionId: string | null; readonly isVendors: boolean },
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
    session_id: sessionId,
    status: isVendors ? vendorWord('status', wireStatus) : wireStatus,
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
      result:
        isVendors && keys.length === 0 && !hasEnded
          ? null
          : {
              rows_written: progress?.rows ?? status?.rows ?? 0,
              feedback_rows_written: progress?.feedbackRows ?? status?.feedbackRows ?? 0,
              exported_files: keys.map((key) => `${bucketName}/${key}`),
              export_path: folderOf(keys[0], bucketName),
              pending_upload: null,
              latest_cursor: cursor ? `${formatInstant(cursor.startTime)}/${cursor.id}` : null,
            },
    },
  };
}

/**
 * Rows of a run: while it is active, those written so far, which are never fewer than in its resource; else
 * those in the bucket.
 */
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
