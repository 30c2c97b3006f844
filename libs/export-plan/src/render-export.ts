import {
  type BulkExport,
  type BulkExportRun,
  CONDITION,
  exportStatusReason,
  type ExportWireStatus,
  exportWireStatus,
  findCondition,
  idOf,
  isFinishedExport,
} from '#lib/resources';

/** Position of a schedule, as REST and webhooks render it. */
export interface RenderedSchedule {
  readonly paused: boolean;
  readonly next_start_time: string | null;
  readonly next_end_time: string | null;
  readonly windows_behind: number;
  readonly lag_seconds: number;
  readonly unfinished_exports: number;
}

/** `null` for a schedule, which calls nothing itself. */
export type WebhookState = 'PENDING' | 'DELIVERED' | 'FAILED';

/** Progress of an export's webhook, as REST renders it. */
export interface RenderedWebhook {
  /** URL without its query. */
  readonly url: string;
  readonly signed: boolean;
  readonly status: WebhookState | null;
  readonly attempts: number;
  readonly last_attempt_at: string | null;
  readonly next_attempt_at: string | null;
  readonly delivered_at: string | null;
  readonly last_error: string | null;
}

/** An export, as REST and webhooks render it. */
export interface RenderedExport {
  readonly id: string;
  readonly tenant_id: string;
  readonly bulk_export_destination_id: string | null;
  readonly session_id: string | null;
  /** Always false: an export has one project. */
  readonly all_experiments: boolean;
  readonly start_time: string | null;
  readonly end_time: string | null;
  readonly filter: string | null;
  readonly format: string;
  readonly format_version: string;
  readonly compression: string;
  readonly table: 'iceberg' | null;
  readonly page_bytes: number | null;
  readonly resources: readonly string[];
  readonly export_fields: readonly string[] | null;
  readonly interval_hours: number | null;
  readonly status: ExportWireStatus;
  readonly paused: boolean;
  readonly status_reason: string | null;
  readonly status_message: string | null;
  readonly rows_exported: number;
  readonly percent: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly finished_at: string | null;
  readonly source_bulk_export_id: string | null;
  readonly continues_bulk_export_id: string | null;
  readonly late_runs_of_bulk_export_id: string | null;
  readonly source_trigger: 'interval' | 'request' | null;
  readonly schedule: RenderedSchedule | null;
  readonly webhook: RenderedWebhook | null;
}

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

const STATES = { True: 'DELIVERED', False: 'FAILED', Unknown: 'PENDING' } as const satisfies Record<
  string,
  WebhookState
>;

/** Progress of an export's webhook. */
export function webhookState({ status }: Pick<BulkExport, 'status'>): WebhookState {
  const condition = findCondition(status?.conditions, CONDITION.webhookDelivered);
  return STATES[condition?.status ?? 'Unknown'];
}

/** The webhook of an export on the wire; null for one without. */
function renderWebhook(bulkExport: BulkExport): RenderedWebhook | null {
  const { spec, status } = bulkExport;
  if (!spec.webhook) return null;
  const { attempts, lastAttemptAt, nextAttemptAt, deliveredAt, lastError } = status?.webhook ?? {};
  return {
    url: withoutQuery(spec.webhook.url),
    signed: spec.webhook.secretRef !== undefined,
    status: spec.intervalHours === undefined ? webhookState(bulkExport) : null,
    attempts: attempts ?? 0,
    last_attempt_at: lastAttemptAt ?? null,
    next_attempt_at: nextAttemptAt ?? null,
    delivered_at: deliveredAt ?? null,
    last_error: lastError ?? null,
  };
}

/** Receivers are often told apart by a token in the query. */
function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '');
}

/** Position of a schedule; null for every other export. */
function renderSchedule(bulkExport: BulkExport, now: Date): RenderedSchedule | null {
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
