import { RestError, type RestRequests } from './rest-client.js';

/** Statuses of an api of an earlier version, and for a key of another scope. */
const SILENT = [403, 404];

interface WarningsAnswer {
  readonly warnings: readonly { readonly message: string; readonly mend: string }[];
}

/** Warnings for an administrator of the platform, each in a line with its remedy. */
export async function readWarnings(rest: RestRequests): Promise<readonly string[]> {
  try {
    const { warnings } = await rest.request<WarningsAnswer>('GET', '/v1/warnings');
    return warnings.map(({ message, mend }) => `${message}: ${mend}`);
  } catch (error) {
    if (error instanceof RestError && SILENT.includes(error.status)) return [];
    throw error;
  }
}

type Limit = number | null;

/** The workspace of a key as the REST interface answers it, as far as people are shown it. */
export interface WorkspaceDetails {
  /** Id of the tenant. */
  readonly id: string;
  readonly name: string;
  readonly display_name: string | null;
  readonly namespace: string;
  readonly plan: string;
  readonly is_ready: boolean;
  readonly status_reason: string | null;
  readonly status_message: string | null;
  /** Null: runs are kept for good. */
  readonly retention: {
    /** 0: for good. */
    readonly shortlived_days: number;
    readonly longlived_days: number;
    readonly default_tier: string;
  } | null;
  /** Null: any number, or, of exports, not reported yet. */
  readonly limits: {
    readonly concurrent_exports: Limit;
    readonly concurrent_runs_per_export: Limit;
    readonly export_history_hours: Limit;
    readonly listeners: number;
    readonly api_keys: Limit;
    readonly tracing_projects: Limit;
    readonly datasets: Limit;
    readonly dataset_bytes: Limit;
    readonly attachment_bytes: Limit;
  };
  readonly usage: {
    readonly deployments: number;
    readonly listeners: number;
    readonly destinations: number;
    readonly export_schedules: number;
    readonly exports_running: number;
    readonly exports_waiting: number;
    readonly export_runs_running: number;
    readonly export_runs_waiting: number;
    readonly api_keys: number;
    readonly tracing_projects: number;
    readonly datasets: number;
    readonly dataset_bytes: number;
    readonly attachment_bytes: number;
  };
}

/** The workspace that the key belongs to: its plan, the limits that hold, and how much of them it uses. */
export function readWorkspace(rest: RestRequests): Promise<WorkspaceDetails> {
  return rest.request<WorkspaceDetails>('GET', '/api/v1/workspaces/current');
}
