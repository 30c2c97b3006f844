import type { ExportWireStatus } from '#lib/resources';

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
