import { TRACE_TIERS } from '#lib/trace-store';
import { Answered, FLAG, NUMBER, object, orNull, TEXT, TIME, UUID, WHOLE, words } from '../wire/shape.js';

/** Retention of runs. */
export class RetentionAnswer {
  @Answered(WHOLE, 'Days that shortlived traces are kept; 0: for good') readonly shortlived_days: number;
  @Answered(WHOLE, 'Days that longlived traces are kept; 0: for good') readonly longlived_days: number;
  @Answered(words(TRACE_TIERS), 'Of traces whose sender and project name none') readonly default_tier: string;
}

/** Limits that a workspace asks for itself; null for those that it leaves open. */
export class OwnLimitsAnswer {
  @Answered(orNull(WHOLE)) readonly concurrent_exports: number | null;
  @Answered(orNull(WHOLE)) readonly concurrent_runs_per_export: number | null;
  @Answered(orNull(WHOLE)) readonly export_history_hours: number | null;
}

/** Limits that hold for a workspace. */
export class LimitsAnswer {
  @Answered(orNull(WHOLE), 'Exports that run at a time; null until the controller has reported')
  readonly concurrent_exports: number | null;
  @Answered(orNull(WHOLE), 'Runs of one export at a time; null until the controller has reported')
  readonly concurrent_runs_per_export: number | null;
  @Answered(
    orNull(NUMBER),
    'How long exports that have ended stay in Kubernetes; REST finds them afterwards as well',
  )
  readonly export_history_hours: number | null;
  @Answered(WHOLE) readonly listeners: number;
  @Answered(orNull(WHOLE), 'In force, those of deployments not counted; null: any number')
  readonly api_keys: number | null;
  @Answered(orNull(WHOLE)) readonly tracing_projects: number | null;
  @Answered(orNull(WHOLE)) readonly datasets: number | null;
  @Answered(orNull(WHOLE)) readonly dataset_bytes: number | null;
  @Answered(orNull(WHOLE)) readonly attachment_bytes: number | null;
}

/** Current usage of a workspace, by the names of its limits if it has one. */
export class UsageAnswer {
  @Answered(WHOLE) readonly deployments: number;
  @Answered(WHOLE) readonly listeners: number;
  @Answered(WHOLE) readonly destinations: number;
  @Answered(WHOLE, 'Those that make exports and have not ended') readonly export_schedules: number;
  @Answered(WHOLE, 'Those that have begun; concurrent_exports bounds them') readonly exports_running: number;
  @Answered(WHOLE, 'Those that wait for a place, for the end of their window, or for what they need')
  readonly exports_waiting: number;
  @Answered(WHOLE) readonly export_runs_running: number;
  @Answered(WHOLE) readonly export_runs_waiting: number;
  @Answered(WHOLE) readonly api_keys: number;
  @Answered(WHOLE) readonly tracing_projects: number;
  @Answered(WHOLE) readonly datasets: number;
  @Answered(WHOLE) readonly dataset_bytes: number;
  @Answered(WHOLE) readonly attachment_bytes: number;
}

/** A workspace on the wire. */
export class WorkspaceAnswer {
  @Answered(UUID, 'The tenant id, as in X-Tenant-Id') readonly id: string;
  @Answered(TEXT, 'Name of the Workspace') readonly name: string;
  @Answered(orNull(TEXT)) readonly display_name: string | null;
  @Answered(TEXT, 'Of everything that it has in Kubernetes') readonly namespace: string;
  @Answered(words(['developer', 'plus', 'enterprise']), 'Bulk export needs plus or enterprise')
  readonly plan: string;
  @Answered(TIME) readonly created_at: string;
  @Answered(FLAG, 'Whether its namespace can be used') readonly is_ready: boolean;
  @Answered(orNull(TEXT), 'Reason of the Ready condition: a CamelCase word')
  readonly status_reason: string | null;
  @Answered(orNull(TEXT), 'The same as a sentence') readonly status_message: string | null;
  @Answered(FLAG, 'Whether secrets may set variables that change how an agent is started')
  readonly allow_dangerous_environment: boolean;
  @Answered(FLAG, 'Whether destinations without credentials use those of the platform')
  readonly allow_environment_credentials: boolean;
  @Answered(orNull(object(() => RetentionAnswer)), 'Null: runs are kept for good')
  readonly retention: RetentionAnswer | null;
  @Answered(object(() => OwnLimitsAnswer)) readonly own_limits: OwnLimitsAnswer;
  @Answered(object(() => LimitsAnswer), 'The lower of its own limits and those of the platform')
  readonly limits: LimitsAnswer;
  @Answered(object(() => UsageAnswer)) readonly usage: UsageAnswer;
}
