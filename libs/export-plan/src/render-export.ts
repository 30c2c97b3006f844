import {
  type BulkExport,
  type BulkExportRun,
  exportStatusReason,
  exportWireStatus,
  idOf,
  isFinishedExport,
} from '#lib/resources';
import { renderSchedule } from './render-schedule.js';
import { renderWebhook } from './render-webhook.js';
import type { RenderedExport } from './rendered-export.js';

/** Ids of the wire that a BulkExport refers to by name. */
export interface ExportLinks {
  readonly tenantId: string;
  readonly destinationId: string | null;
  readonly now: Date;
  /** Position from 1, for one that waits for others of its workspace to end. */
  readonly queuePosition?: number | undefined;
}

/** Time of the last change of an export's or a run's conditions, else of its creation. */
export function updatedAt(object: BulkExport | BulkExportRun): string {
  const { metadata, status } = object;
  const changes = (status?.conditions ?? []).map((condition) => condition.lastTransitionTime).sort();
  return changes.at(-1) ?? metadata.creationTimestamp ?? '';
}

/** An export on the wire. */
export function renderExport(bulkExport: BulkExport, links: ExportLinks): RenderedExport {
  const { metadata, spec, status } = bulkExport;
  const wireStatus = exportWireStatus(bulkExport);
  const source = spec.sourceExport;
  const reason = exportStatusReason(bulkExport);
  return {
    id: idOf(bulkExport) ?? '',
    tenant_id: links.tenantId,
    bulk_export_destination_id: links.destinationId,
    all_experiments: false,
    session_id: status?.tracingProjectId ?? spec.tracingProject.id ?? null,
    start_time: spec.startTime ?? status?.startTime ?? null,
    end_time: spec.endTime ?? (spec.intervalHours === undefined ? status?.endTime : undefined) ?? null,
    filter: spec.filter ?? null,
    format: spec.format === 'jsonl' ? 'JSONL' : 'Parquet',
    format_version: spec.formatVersion,
    compression: spec.compression,
    table: spec.table ?? null,
    page_bytes: spec.pageBytes ?? null,
    resources: spec.resources ?? ['runs'],
    export_fields: spec.exportFields ?? null,
    interval_hours: spec.intervalHours ?? null,
    status: wireStatus,
    // archived resources may lack it
    paused: Boolean(spec.suspend),
    status_reason: reason?.reason ?? null,
    status_message: messageOf(reason?.message, links.queuePosition),
    rows_exported: status?.rows ?? 0,
    percent: wireStatus === 'COMPLETED' ? 100 : (status?.percent ?? 0),
    created_at: metadata.creationTimestamp ?? '',
    updated_at: updatedAt(bulkExport),
    finished_at: isFinishedExport(wireStatus) ? (status?.finishedAt ?? null) : null,
    source_bulk_export_id: source?.id ?? null,
    continues_bulk_export_id: spec.continues?.id ?? null,
    late_runs_of_bulk_export_id: spec.lateRunsOf?.id ?? null,
    source_trigger: source ? (source.runRequestId === undefined ? 'interval' : 'request') : null,
    schedule: renderSchedule(bulkExport, links.now),
    webhook: renderWebhook(bulkExport),
  };
}

function messageOf(message: string | undefined, position: number | undefined): string | null {
  if (position === undefined) return message ?? null;
  return `position ${position} in the queue of the workspace; ${message ?? ''}`;
}
