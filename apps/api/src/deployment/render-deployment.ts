import {
  type AgentDeployment,
  type AgentRevision,
  ANNOTATION,
  CONDITION,
  deploymentWireStatus,
  findCondition,
  idOf,
  isConditionTrue,
  type ResourceSpec,
  type RevisionRequest,
  type RevisionWireStatus,
  revisionWireStatus,
  REASON,
  type SourceConfig,
  statusReason,
  type StatusReason,
} from '#lib/resources';
import { parseJson } from '#lib/json';
import { buildInput } from '#lib/manifests';
import { toWire } from '../wire/shape.js';
import { wordFor } from '../wire/vocabulary.js';
import { renderReason } from '../wire/render-reason.js';
import type { DeploymentAnswer, RevisionAnswer, SourceConfigAnswer } from './deployment-answer.js';
import { pendingRevision, type SupersededRevision } from './superseded-revisions.js';

/** Absent fields of the wire are null. */
const NO_SOURCE_CONFIG = {
  integration_id: null,
  repo_url: null,
  deployment_type: null,
  build_on_push: null,
  custom_url: null,
  resource_spec: null,
  listener_id: null,
  listener_config: null,
  install_command: null,
  build_command: null,
};
const NO_REVISION_CONFIG = {
  repo_ref: null,
  graph_config_path: null,
  image_uri: null,
  source_tarball_path: null,
  repo_commit_sha: null,
};

/** The name on the wire. */
export function wireName(deployment: AgentDeployment): string {
  return deployment.spec.name ?? deployment.metadata.name;
}

function renderSourceConfig(config: SourceConfig): SourceConfigAnswer {
  return {
    ...NO_SOURCE_CONFIG,
    ...toWire(config),
    resource_spec: config.resourceSpec ? renderResourceSpec(config.resourceSpec) : null,
    listener_config: config.listenerConfig
      ? { cluster_namespace: config.listenerConfig.clusterNamespace ?? null }
      : null,
  };
}

function renderResourceSpec(spec: ResourceSpec): object {
  return toWire(spec);
}

/** Kubernetes keeps whole seconds of most times: a time must not look different once it is taken from another place. */
function wholeSeconds(time: string): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? time : date.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Names of variables that were sent and left out. */
export function leftOutVariables({ metadata }: AgentDeployment): readonly string[] {
  return (metadata.annotations?.[ANNOTATION.leftOutVariables] ?? '').split(',').filter((name) => name !== '');
}

/** Sentence about them; empty when there are none. */
export function leftOutText(names: readonly string[]): string {
  return names.length === 0
    ? ''
    : `${names.join(', ')} left out of the secrets: the platform sets them, or they can run code and need spec.allowDangerousEnvironment of the Workspace`;
}

/** Latest of the times that a deployment knows of. */
function updatedAt(deployment: AgentDeployment): string {
  const { metadata, spec, status } = deployment;
  const times = [
    metadata.creationTimestamp,
    metadata.deletionTimestamp,
    spec.revisionRequest?.at,
    ...(status?.conditions ?? []).map((condition) => condition.lastTransitionTime),
  ].filter((time) => time !== undefined);
  const latest = times.reduce(
    (former, time) => (Date.parse(time) > Date.parse(former) ? time : former),
    times[0] ?? '',
  );
  return wholeSeconds(latest);
}

/** Address of a deployment in answers; a PATCH may repeat it. @param assigned route that the platform gives it */
export function shownUrl(
  { spec, status }: AgentDeployment,
  assigned: string | undefined,
): string | undefined {
  return assigned ?? spec.sourceConfig?.customUrl ?? status?.url;
}

/** Users may write anything into the annotation. */
function trackedPackages({ metadata }: AgentDeployment): readonly string[] | null {
  try {
    const kept: unknown = parseJson(metadata.annotations?.[ANNOTATION.trackedPackages] ?? 'null');
    return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : null;
  } catch {
    return null;
  }
}

/**
 * A deployment on the wire.
 * @param secretNames values never leave their Secret
 * @param assignedUrl route that the platform gives it
 */
export function renderDeployment(
  deployment: AgentDeployment,
  tenantId: string,
  secretNames: readonly string[],
  assignedUrl?: string,
): DeploymentAnswer {
  const { metadata, spec, status } = deployment;
  const isVendors = wordFor(deployment, 'source', spec.source) !== spec.source;
  return {
    id: idOf(deployment) ?? '',
    tenant_id: tenantId,
    name: wireName(deployment),
    source: wordFor(deployment, 'source', spec.source),
    source_config: {
      ...renderSourceConfig(spec.sourceConfig ?? {}),
      deployment_type: wordFor(deployment, 'deployment_type', spec.sourceConfig?.deploymentType) ?? null,
      custom_url: shownUrl(deployment, assignedUrl) ?? null,
    },
    source_revision_config: { ...NO_REVISION_CONFIG, ...toWire(spec.sourceRevisionConfig) },
    // its clients compare values: empty ones would look like a change
    secrets: isVendors ? null : secretNames.map((name) => ({ name, value: '' })),
    secret_references: (spec.secretReferences ?? []).map(({ name, secretName, secretKey }) => ({
      name,
      secret_name: secretName,
      secret_key: secretKey,
    })),
    display_name: metadata.annotations?.[ANNOTATION.displayName] ?? null,
    tracked_packages: trackedPackages(deployment),
    left_out_secrets: leftOutVariables(deployment),
    created_at: wholeSeconds(metadata.creationTimestamp ?? ''),
    updated_at: updatedAt(deployment),
    generation: metadata.generation ?? 1,
    status: deploymentWireStatus(deployment),
    ...renderReason(statusReason(deployment)),
    latest_revision_id: pendingRevision(deployment)?.id ?? status?.latestRevisionId ?? null,
    active_revision_id: status?.activeRevisionId ?? null,
    min_ready_seconds: spec.minReadySeconds ?? null,
    idle_seconds: spec.idleSeconds ?? null,
    rollback_on_failure: spec.rollbackOnFailure ?? null,
    image_version: status?.imageVersion ?? null,
    last_wake: status?.lastWake ?? null,
    url: status?.url ?? null,
  };
}

/** Statuses that only the listener changes. */
const UNDER_WAY: ReadonlySet<RevisionWireStatus> = new Set(['AWAITING_DEPLOY', 'DEPLOYING']);

/** Reason for a silent listener: the progress of the rollout is unknown. */
function silence({ status }: Pick<AgentDeployment, 'status'>): StatusReason | undefined {
  const ready = findCondition(status?.conditions, CONDITION.ready);
  return ready?.status === 'Unknown' && ready.reason === REASON.noHeartbeat ? ready : undefined;
}

/**
 * The status of a revision in the API. One that has just begun to serve is still pending until the deployment
 * reports it too: a caller that waited for `DEPLOYED` then finds the active revision and the URL in it.
 */
export function shownRevisionStatus(
  revision: AgentRevision,
  deployment: Pick<AgentDeployment, 'status'>,
): RevisionWireStatus {
  const { status } = deployment;
  const isActive = isConditionTrue(revision.status?.conditions, CONDITION.active);
  const isToldOf = status?.activeRevisionId === idOf(revision) && status?.url !== undefined;
  const own = revisionWireStatus(revision);
  if (silence(deployment) && UNDER_WAY.has(own)) return 'UNKNOWN';
  return own === 'DEPLOYED' && isActive && !isToldOf ? 'DEPLOYING' : own;
}

/** Reason while there is no image: the one that `Ready` has as well, once the listener has seen it. */
function buildReason({ status }: AgentRevision): StatusReason | undefined {
  const built = findCondition(status?.conditions, CONDITION.built);
  const isOver = isConditionTrue(status?.conditions, CONDITION.superseded);
  return built === undefined || built.status === 'True' || isOver
    ? undefined
    : { reason: built.reason, message: built.message };
}

/** A revision on the wire. @param isArchived whether the API server holds it no longer */
export function renderRevision(
  revision: AgentRevision,
  deployment: Pick<AgentDeployment, 'metadata' | 'status'>,
  isArchived = false,
): RevisionAnswer {
  const { metadata, spec, status } = revision;
  const changes = (status?.conditions ?? []).map((condition) => condition.lastTransitionTime).sort();
  const shown = shownRevisionStatus(revision, deployment);
  const unheard = shown === 'UNKNOWN' ? silence(deployment) : undefined;
  return {
    id: idOf(revision) ?? '',
    name: metadata.name,
    created_at: wholeSeconds(metadata.creationTimestamp ?? ''),
    updated_at: wholeSeconds(changes.at(-1) ?? metadata.creationTimestamp ?? ''),
    status: shown,
    ...renderReason(unheard ?? buildReason(revision) ?? statusReason(revision)),
    archived: isArchived,
    source: wordFor(deployment, 'source', spec.source),
    source_revision_config: {
      image_uri: spec.imageUri ?? null,
      repo_ref: spec.git?.repoRef ?? null,
      graph_config_path: buildInput(revision)?.graphConfigPath ?? null,
      source_tarball_path: spec.archive?.path ?? null,
      repo_commit_sha: status?.repoCommitSha ?? null,
    },
  };
}

/** A revision that was requested and will never be made, since another was requested before. */
export function renderSuperseded(
  deployment: AgentDeployment,
  superseded: SupersededRevision,
): RevisionAnswer {
  return {
    ...renderPendingRevision(deployment, superseded),
    status: 'SKIPPED',
    ...renderReason({
      reason: REASON.newerRevision,
      message: 'another revision was requested before this one was created',
    }),
    source_revision_config: { ...NO_REVISION_CONFIG, ...toWire(superseded.sourceRevisionConfig) },
  };
}

/**
 * Reasons that delay the requested revision while `Ready` is unknown; others are about the revision before.
 */
const HOLDS_UP: ReadonlySet<string> = new Set([REASON.dependencyUnavailable, REASON.progressing]);

/** Reason that delays a requested revision: the one that keeps its deployment from being ready. */
function pendingReason(deployment: AgentDeployment): StatusReason {
  const ready = findCondition(deployment.status?.conditions, CONDITION.ready);
  const isObjected = ready?.status === 'False' || HOLDS_UP.has(ready?.reason ?? '');
  const objection = isObjected ? statusReason(deployment) : undefined;
  return objection ?? { reason: REASON.pending, message: 'the controller has not created the revision yet' };
}

/**
 * A revision that was asked for and that the controller has not made yet. A refused one is made once the
 * cause is repaired, whatever that is: its end is unknown, only the reason is known.
 */
export function renderPendingRevision(
  deployment: AgentDeployment,
  pending: Pick<RevisionRequest, 'id' | 'at'>,
): RevisionAnswer {
  const created = wholeSeconds(pending.at ?? deployment.metadata.creationTimestamp ?? '');
  return {
    id: pending.id,
    name: null,
    created_at: created,
    updated_at: created,
    status: 'CREATING',
    ...renderReason(pendingReason(deployment)),
    archived: false,
    source: wordFor(deployment, 'source', deployment.spec.source),
    source_revision_config: { ...NO_REVISION_CONFIG, ...toWire(deployment.spec.sourceRevisionConfig) },
  };
}
