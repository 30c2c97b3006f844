import type { KubeClient } from '#lib/kube';
import {
  type AgentDeployment,
  CONDITION,
  findCondition,
  isConditionTrue,
  type ObjectKey,
  REASON,
  RESOURCES,
  statusReason,
} from '#lib/resources';
import { type Clock, systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { followObject } from '../waiting/follow-object.js';
import { progressLines } from '../waiting/progress-lines.js';

/** Progress of the rollout of a deployment. */
type Rollout =
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

/** A refusal may be left over from before: it counts once it has lasted for so long. */
const LASTING_MS = 3_000;

export interface WaitOptions {
  readonly timeoutMs: number;
  /** One line, each time that something else is waited for. */
  readonly onProgress: (message: string) => void;
  readonly clock?: Clock;
}

/**
 * Waits until the deployment serves what was asked for.
 * @throws CommandError `failed` with the reason, `timedOut`, or `notFound` when it was deleted meanwhile
 */
export async function waitForRollout(
  client: KubeClient,
  key: ObjectKey,
  wanted: Wanted,
  { timeoutMs, onProgress, clock = systemClock }: WaitOptions,
): Promise<Extract<Rollout, { kind: 'ready' }>> {
  const show = progressLines(onProgress, () => clock.monotonicMs());
  let last = 'waiting for the controller';
  let failedSinceMs: number | undefined;
  for await (const deployment of followObject(client, RESOURCES.AgentDeployment, key, { timeoutMs, clock })) {
    if (!deployment)
      throw new CommandError('notFound', `AgentDeployment ${key.name} was deleted while it was deployed`);
    const rollout = decideRollout(deployment, wanted);
    switch (rollout.kind) {
      case 'ready':
        return rollout;
      case 'failed':
        failedSinceMs ??= clock.monotonicMs();
        if (clock.monotonicMs() - failedSinceMs < LASTING_MS) break;
        throw new CommandError(
          'failed',
          `deploying ${key.name} failed (${rollout.reason}): ${rollout.message}; "agentplane describe adep ${key.name}" and "agentplane logs ${key.name}" show more`,
        );
      case 'pending':
        failedSinceMs = undefined;
        if (rollout.message !== last) show(rollout.message);
        last = rollout.message;
        break;
      default:
        rollout satisfies never;
    }
  }
  throw new CommandError(
    'timedOut',
    `${key.name} is not ready after ${timeoutMs / 1000} s: ${last}; it goes on, and "agentplane get adep ${key.name}" shows how far`,
  );
}
