import {
  CONDITION,
  type ConditionDraft,
  type Deployment,
  isDeleting,
  type Listener,
  REASON,
} from '#lib/resources';
import { isOlder } from '../identity/decide-id.js';

/** Reason why a Listener gets no program, for its condition. */
export type ListenerRefusal = Pick<ConditionDraft, 'reason' | 'message'>;

/** Namespaces that a Listener names beside its own; a tenant cannot grant rights there. Those of another cluster are not ours. */
function foreignNamespaces({ metadata, spec }: Listener): readonly string[] {
  if (spec.remote !== undefined) return [];
  return (spec.namespaces ?? []).filter((namespace) => namespace !== metadata.namespace);
}

/** Refuses a Listener that gets no program. The older of two with one compute id keeps it. */
export function refuseListener(
  listener: Listener,
  ofNamespace: readonly Listener[],
): ListenerRefusal | undefined {
  const foreign = foreignNamespaces(listener);
  if (foreign.length > 0)
    return {
      reason: REASON.notSupported,
      message: `spec.namespaces refused: a listener runs in its own namespace only, not in ${foreign.join(', ')}; remove it`,
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
  const message = `compute id ${computeId} is used by the older Listener ${holder.metadata.name}; choose another`;
  return { reason: REASON.computeIdTaken, message };
}

/** Conditions that make a Listener ready. A remote one has only its heartbeat: its pod is not known here. */
export function neededConditions({ spec }: Listener): readonly string[] {
  return spec.remote === undefined
    ? [CONDITION.workloadReady, CONDITION.heartbeatFresh]
    : [CONDITION.heartbeatFresh];
}

/**
 * The conditions of a Listener: the reason why it has no program, or the state of its Deployment and of its
 * heartbeat.
 * @param isBeating true when its last heartbeat arrived a moment ago (`Heartbeats`)
 */
export function listenerConditions(
  listener: Listener,
  workload: Deployment | undefined,
  isBeating: boolean,
  refusal?: ListenerRefusal,
): readonly ConditionDraft[] {
  const isRemote = listener.spec.remote !== undefined;
  if (refusal)
    return [
      { type: isRemote ? CONDITION.heartbeatFresh : CONDITION.workloadReady, status: 'False', ...refusal },
    ];
  if (isRemote) return [heartbeatCondition(listener, isBeating)];
  return [workloadCondition(workload), heartbeatCondition(listener, isBeating)];
}

function workloadCondition(workload: Deployment | undefined): ConditionDraft {
  const type = CONDITION.workloadReady;
  const isAvailable =
    workload?.status?.observedGeneration === workload?.metadata.generation &&
    (workload?.status?.availableReplicas ?? 0) > 0;
  return isAvailable
    ? { type, status: 'True', reason: REASON.available, message: 'pod of the listener ready' }
    : { type, status: 'False', reason: REASON.unavailable, message: 'pod of the listener not ready' };
}

function heartbeatCondition(listener: Listener, isBeating: boolean): ConditionDraft {
  const type = CONDITION.heartbeatFresh;
  const isRemote = listener.spec.remote !== undefined;
  const beat = listener.status?.lastHeartbeatTime;
  if (beat === undefined) {
    const start = `; start it in the other cluster with the output of "agentplane listener manifest ${listener.metadata.name}"`;
    const message = `no heartbeat received yet${isRemote ? start : ''}`;
    return { type, status: 'Unknown', reason: REASON.noHeartbeat, message };
  }
  // no age in the message: it would change the status at every look
  if (isBeating) return { type, status: 'True', reason: REASON.available, message: 'heartbeats arrive' };
  const where = isRemote ? 'see its pod in the other cluster, and the link' : 'see its pod';
  return {
    type,
    status: 'False',
    reason: REASON.noHeartbeat,
    message: `last heartbeat at ${beat}; ${where}`,
  };
}
