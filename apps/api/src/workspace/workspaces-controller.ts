import type { Caller } from '#lib/auth';
import {
  CONDITION,
  exportRunWireStatus,
  exportWireStatus,
  isConditionTrue,
  isFinishedExport,
  MAX_LISTENERS,
  statusReason,
  type Workspace,
  workspaceNamespace,
} from '#lib/resources';
import { type TenantUse, TRACE_TIERS, type TraceStore } from '#lib/trace-store';
import type { Homes } from '../kubernetes/secret-home.js';
import { FromCaller } from '../tenancy/caller.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { Resource } from '../wire/operation.js';
import { renderReason } from '../wire/render-reason.js';
import { Get } from '../wire/route.js';
import { READ } from '../wire/route-access.js';
import { Answered, FLAG, NUMBER, object, orNull, TEXT, TIME, UUID, WHOLE, words } from '../wire/shape.js';

/** Retention of runs. */
class RetentionAnswer {
  @Answered(WHOLE, 'Days that shortlived traces are kept; 0: for good') readonly shortlived_days: number;
  @Answered(WHOLE, 'Days that longlived traces are kept; 0: for good') readonly longlived_days: number;
  @Answered(words(TRACE_TIERS), 'Of traces whose sender and project name none') readonly default_tier: string;
}

/** Limits that a workspace asks for itself; null for those that it leaves open. */
class OwnLimitsAnswer {
  @Answered(orNull(WHOLE)) readonly concurrent_exports: number | null;
  @Answered(orNull(WHOLE)) readonly concurrent_runs_per_export: number | null;
  @Answered(orNull(WHOLE)) readonly export_history_hours: number | null;
}

/** Limits that hold for a workspace. */
class LimitsAnswer {
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
class UsageAnswer {
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
class WorkspaceAnswer {
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

/** Resources of a workspace in Kubernetes. */
type ResourceUse = Omit<
  UsageAnswer,
  'api_keys' | 'tracing_projects' | 'datasets' | 'dataset_bytes' | 'attachment_bytes'
>;

/** A workspace on the wire. */
function renderWorkspace(workspace: Workspace, resources: ResourceUse, stored: TenantUse): WorkspaceAnswer {
  const { metadata, spec, status } = workspace;
  return {
    id: spec.tenantId.toLowerCase(),
    name: metadata.name,
    display_name: spec.displayName ?? null,
    namespace: status?.namespace ?? workspaceNamespace(metadata.name),
    plan: spec.plan,
    created_at: metadata.creationTimestamp ?? '',
    is_ready: isConditionTrue(status?.conditions, CONDITION.ready),
    ...renderReason(statusReason(workspace)),
    allow_dangerous_environment: spec.allowDangerousEnvironment === true,
    allow_environment_credentials: spec.allowEnvironmentCredentials === true,
    retention: renderRetention(spec),
    own_limits: renderOwnLimits(spec),
    limits: renderLimits(status, stored),
    usage: {
      ...resources,
      api_keys: stored.apiKeys.used,
      tracing_projects: stored.projects.used,
      datasets: stored.datasets.used,
      dataset_bytes: stored.datasetBytes.used,
      attachment_bytes: stored.attachmentBytes.used,
    },
  };
}

function renderRetention({ retention }: Workspace['spec']): RetentionAnswer | null {
  if (!retention) return null;
  const { shortlivedDays, longlivedDays, defaultTier } = retention;
  return { shortlived_days: shortlivedDays, longlived_days: longlivedDays, default_tier: defaultTier };
}

function renderOwnLimits({ limits }: Workspace['spec']): OwnLimitsAnswer {
  return {
    concurrent_exports: limits?.concurrentExports ?? null,
    concurrent_runs_per_export: limits?.concurrentRunsPerExport ?? null,
    export_history_hours: limits?.exportHistoryHours ?? null,
  };
}

function renderLimits(status: Workspace['status'], stored: TenantUse): LimitsAnswer {
  return {
    concurrent_exports: status?.limits?.concurrentExports ?? null,
    concurrent_runs_per_export: status?.limits?.concurrentRunsPerExport ?? null,
    export_history_hours: status?.limits?.exportHistoryHours ?? null,
    listeners: MAX_LISTENERS,
    api_keys: stored.apiKeys.most ?? null,
    tracing_projects: stored.projects.most ?? null,
    datasets: stored.datasets.most ?? null,
    dataset_bytes: stored.datasetBytes.most ?? null,
    attachment_bytes: stored.attachmentBytes.most ?? null,
  };
}

/** The kinds that a workspace is counted by. */
export type CountedHomes = Pick<Homes, 'deployments' | 'listeners' | 'destinations' | 'exports' | 'runs'>;

/** Reads the workspace of a caller: its facts, its limits, its usage. */
export class WorkspaceReader {
  constructor(
    private readonly homes: CountedHomes,
    private readonly workspaces: Pick<Workspaces, 'get' | 'homeOf'>,
    private readonly store: Pick<TraceStore, 'use'>,
  ) {}

  /** @throws PublicError not_found for a workspace that is being deleted */
  async read({ tenantId }: Caller): Promise<WorkspaceAnswer> {
    const workspace = this.workspaces.get(tenantId);
    const { namespace } = this.workspaces.homeOf(tenantId);
    return renderWorkspace(workspace, this.#count(namespace), await this.store.use(tenantId));
  }

  #count(namespace: string): ResourceUse {
    const { deployments, listeners, destinations, exports, runs } = this.homes;
    const underWay = exports.filter(namespace, (one) => !isFinishedExport(exportWireStatus(one)));
    const ordinary = underWay.filter(({ spec }) => spec.intervalHours === undefined);
    const begun = ordinary.filter((one) => exportWireStatus(one) === 'RUNNING');
    const running = runs.filter(namespace, (one) => exportRunWireStatus(one) === 'RUNNING');
    const waiting = runs.filter(namespace, (one) => exportRunWireStatus(one) === 'CREATED');
    return {
      deployments: deployments.list(namespace).length,
      listeners: listeners.list(namespace).length,
      destinations: destinations.list(namespace).length,
      export_schedules: underWay.length - ordinary.length,
      exports_running: begun.length,
      exports_waiting: ordinary.length - begun.length,
      export_runs_running: running.length,
      export_runs_waiting: waiting.length,
    };
  }
}

/** The workspace that a key belongs to. */
@Resource('Workspaces', 'api/v1/workspaces')
export class WorkspacesController {
  constructor(private readonly reader: WorkspaceReader) {}

  @Get('current', READ, {
    summary: 'The workspace of the key: its plan, its limits, and how much of them it uses',
    answer: WorkspaceAnswer,
  })
  current(@FromCaller() caller: Caller): Promise<WorkspaceAnswer> {
    return this.reader.read(caller);
  }
}
