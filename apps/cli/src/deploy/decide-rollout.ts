import {
  type AgentDeployment,
  CONDITION,
  findCondition,
  isConditionTrue,
  REASON,
  statusReason,
} from '#lib/resources';

/** Progress of the rollout of a deployment. */
export type Rollout =
  | { readonly kind: 'pending'; readonly message: string }
  | { readonly kind: 'ready'; readonly revision: string; readonly url: string }
  /** It fails as it is: a person must change something. */
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string };

/** The requested state, which tells its rollout from earlier ones. */
export interface Wanted {
  readonly generation: number;
  /** Absent when no new revision was asked for by an id. */
  readonly revisionRequestId: string | undefined;
}

/** Reasons under which nothing will happen by itself. */
const REFUSALS: ReadonlySet<string> = new Set([
  REASON.nameTaken,
  REASON.reservedEnvironment,
  REASON.dangerousEnvironment,
  REASON.secretMissing,
  REASON.secretRefused,
  REASON.volumeRefused,
  REASON.podSecurityRefused,
  REASON.notOurs,
  REASON.listenerMissing,
  REASON.revisionMissing,
  REASON.suspended,
  REASON.imagePullFailed,
  REASON.buildFailed,
  REASON.buildTimedOut,
  REASON.buildRefused,
  REASON.integrationMissing,
  REASON.repositoryRefused,
  REASON.refNotFound,
]);

/** Rollout of the requested state according to the status of a deployment. */
export function decideRollout(deployment: AgentDeployment, wanted: Wanted): Rollout {
  const { status, metadata } = deployment;
  const reported = statusReason(deployment);
  const pending: Rollout = { kind: 'pending', message: reported?.message ?? 'waiting for the controller' };
  const ready = findCondition(status?.conditions, CONDITION.ready);
  const revisionReady = findCondition(status?.conditions, CONDITION.revisionReady);
  // the outcome of an earlier generation says nothing about this one
  const isCurrent =
    (status?.observedGeneration ?? 0) >= wanted.generation &&
    (wanted.revisionRequestId === undefined || status?.handledRevisionRequestId === wanted.revisionRequestId);
  if (reported && ready?.status !== 'True' && REFUSALS.has(reported.reason))
    return { kind: 'failed', reason: reported.reason, message: reported.message };
  if (!isCurrent) return pending;
  const { latestRevisionName: latest, activeRevisionName: active, url } = status ?? {};
  if (isConditionTrue(status?.conditions, CONDITION.ready) && latest !== undefined && latest === active)
    return url === undefined
      ? { kind: 'pending', message: `${latest} waits for its address` }
      : { kind: 'ready', revision: latest, url };
  if (revisionReady?.status === 'False' && latest !== active)
    return {
      kind: 'failed',
      reason: revisionReady.reason,
      message: revisionReady.message || `${latest ?? metadata.name} failed`,
    };
  return pending;
}
