import { addressOf, type AddressMode } from '#lib/manifests';
import {
  type AgentDeployment,
  type AgentDeploymentStatus,
  type AgentRevision,
  CONDITION,
  type ConditionDraft,
  findCondition,
  idOf,
  isConditionTrue,
  REASON,
} from '#lib/resources';
import { conditionsOf } from '../status-conditions.js';
import type { DeploymentWorld } from './deployment-world.js';

/** What a pass came to. */
export interface DeploymentFindings {
  readonly conditions: readonly ConditionDraft[];
  /** Types of which it found out nothing; default none. */
  readonly keeps?: readonly string[];
  readonly tracingProjectId: string | undefined;
  readonly handledRevisionRequestId: string | undefined;
  /** By number, oldest first, those made in this pass included. */
  readonly revisions: readonly AgentRevision[];
  /** Whether this generation was handled to its end. */
  readonly isHandled: boolean;
}

const NEEDS = [CONDITION.tracingProjectReady, CONDITION.databaseReady, CONDITION.revisionReady];

/** The complete status of an AgentDeployment. */
export function summarizeDeployment(
  world: DeploymentWorld,
  findings: DeploymentFindings,
  addresses: AddressMode,
  now: Date,
): AgentDeploymentStatus {
  const { deployment, service } = world;
  const { metadata, spec, status } = deployment;
  const { revisions, tracingProjectId, handledRevisionRequestId } = findings;
  const latest = revisions.at(-1);
  const active = revisions.findLast((revision) =>
    isConditionTrue(revision.status?.conditions, CONDITION.active),
  );
  const generation = findings.isHandled ? metadata.generation : status?.observedGeneration;
  // before a revision ever served there is nothing to call, whatever address it will have
  const url = active && (spec.sourceConfig.customUrl ?? (service && addressOf(service, addresses)));
  return defined({
    observedGeneration: generation,
    latestRevisionId: latest && idOf(latest),
    latestRevisionName: latest?.metadata.name,
    activeRevisionId: active && idOf(active),
    activeRevisionName: active?.metadata.name,
    handledRevisionRequestId,
    tracingProjectId,
    url,
    conditions: conditionsOf(
      status?.conditions,
      findings.conditions,
      { needs: NEEDS, message: 'the newest revision serves' },
      generation,
      now,
      findings.keeps,
    ),
  });
}

/** What the newest revision means for its deployment. */
export function revisionCondition(
  deployment: AgentDeployment,
  latest: AgentRevision | undefined,
): ConditionDraft {
  const type = CONDITION.revisionReady;
  if (deployment.spec.suspend)
    return { type, status: 'False', reason: REASON.suspended, message: 'the deployment is suspended' };
  if (!latest)
    return { type, status: 'Unknown', reason: REASON.noRevision, message: 'there is no revision yet' };
  const failed = findCondition(latest.status?.conditions, CONDITION.failed);
  const { name } = latest.metadata;
  if (failed?.status === 'True')
    return { type, status: 'False', reason: failed.reason, message: `${name}: ${failed.message}` };
  const ready = findCondition(latest.status?.conditions, CONDITION.ready);
  if (ready?.status === 'True')
    return { type, status: 'True', reason: REASON.serving, message: `${name} serves` };
  // one that served and lost its pods is not ready; one on its way up is not known yet
  const wasActive = findCondition(latest.status?.conditions, CONDITION.active) !== undefined;
  return {
    type,
    status: wasActive ? 'False' : 'Unknown',
    reason: ready?.reason ?? REASON.awaitingListener,
    message: `${name}: ${ready?.message ?? 'waiting for the listener'}`,
  };
}

/** Without the fields that have no value: an applied status owns what it names. */
function defined(status: {
  readonly [K in keyof AgentDeploymentStatus]: AgentDeploymentStatus[K] | undefined;
}) {
  return Object.fromEntries(
    Object.entries(status).filter(([, value]) => value !== undefined),
  ) as AgentDeploymentStatus;
}
