import {
  CONDITION,
  type ConditionDraft,
  type Deployment,
  isDeleting,
  type Listener,
  REASON,
} from '#lib/resources';
import { isOlder } from '../identity/assign-id.js';

/** A listener that was silent for longer than this does not work. It beats every ten seconds. */
export const HEARTBEAT_STALE_MS = 45_000;

/** Why a Listener gets no program, as the condition says it. */
export type ListenerRefusal = Pick<ConditionDraft, 'reason' | 'message'>;

/** Namespaces that a Listener names beside its own; rights there are not the tenant's to give. */
function foreignNamespaces({ metadata, spec }: Listener): readonly string[] {
  return (spec.namespaces ?? []).filter((namespace) => namespace !== metadata.namespace);
}

/** What keeps a Listener from getting a program. Of two with one compute id the older keeps it. */
export function refuseListener(
  listener: Listener,
  ofNamespace: readonly Listener[],
): ListenerRefusal | undefined {
  const foreign = foreignNamespaces(listener);
  if (foreign.length > 0)
    return {
      reason: REASON.notSupported,
      message: `a listener works in its own namespace only, not in ${foreign.join(', ')}: remove spec.namespaces`,
    };
  const { computeId } = listener.spec;
  const holder = ofNamespace.find(
    (other) =>
      other.metadata.uid !== listener.metadata.uid &&
      other.spec.computeId === computeId &&
      !isDeleting(other) &&
      isOlder(other.metadata, listener.metadata),
  );
  if (!holder) return undefined;
  const message = `the compute id ${computeId} belongs to Listener ${holder.metadata.name} already`;
  return { reason: REASON.computeIdTaken, message };
}

/** What is known about a Listener: why it has no program, or from its Deployment and from what it last said. */
export function listenerConditions(
  listener: Listener,
  workload: Deployment | undefined,
  now: Date,
  refusal?: ListenerRefusal,
): readonly ConditionDraft[] {
  if (refusal) return [{ type: CONDITION.workloadReady, status: 'False', ...refusal }];
  return [workloadCondition(workload), heartbeatCondition(listener, now)];
}

function workloadCondition(workload: Deployment | undefined): ConditionDraft {
  const type = CONDITION.workloadReady;
  const isAvailable =
    workload?.status?.observedGeneration === workload?.metadata.generation &&
    (workload?.status?.availableReplicas ?? 0) > 0;
  return isAvailable
    ? { type, status: 'True', reason: REASON.available, message: 'its pod is ready' }
    : { type, status: 'False', reason: REASON.unavailable, message: 'its pod is not ready' };
}

function heartbeatCondition(listener: Listener, now: Date): ConditionDraft {
  const type = CONDITION.heartbeatFresh;
  const beat = listener.status?.lastHeartbeatTime;
  if (beat === undefined)
    return { type, status: 'Unknown', reason: REASON.noHeartbeat, message: 'it has not said anything yet' };
  return now.getTime() - Date.parse(beat) <= HEARTBEAT_STALE_MS
    ? { type, status: 'True', reason: REASON.available, message: 'it works' }
    : { type, status: 'False', reason: REASON.noHeartbeat, message: `it was last heard of at ${beat}` };
}
