import {
  CONDITION,
  isConditionTrue,
  MAX_LISTENERS,
  statusReason,
  type Workspace,
  workspaceNamespace,
} from '#lib/resources';
import type { TenantUse } from '#lib/trace-store';
import { renderReason } from '../wire/render-reason.js';
import type {
  LimitsAnswer,
  OwnLimitsAnswer,
  RetentionAnswer,
  UsageAnswer,
  WorkspaceAnswer,
} from './workspace-answer.js';

/** Resources of a workspace in Kubernetes. */
export type ResourceUse = Omit<
  UsageAnswer,
  'api_keys' | 'tracing_projects' | 'datasets' | 'dataset_bytes' | 'attachment_bytes'
>;

/** A workspace on the wire. */
export function renderWorkspace(
  workspace: Workspace,
  resources: ResourceUse,
  stored: TenantUse,
): WorkspaceAnswer {
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
