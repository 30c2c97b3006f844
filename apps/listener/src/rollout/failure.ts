import { TerminalError } from '#lib/errors';
import { isForbidden, isInvalid, isNotFound } from '#lib/kube';
import {
  EXIT_DEPENDENCY_UNAVAILABLE,
  EXIT_GRAPH_LOAD_FAILED,
  parseTerminationMessage,
  readTerminationMessage,
} from '#lib/lifecycle';
import { containerStatuses, endsOf } from '#lib/pod-logs';
import {
  CONDITION,
  type ContainerState,
  type ContainerStatus,
  type Deployment,
  findCondition,
  type Pod,
  POD_SCHEDULED,
  POD_SUPPORTED,
  REASON,
  selectsProcessRuntime,
} from '#lib/resources';
import type { PodAnswer } from '../place/ask-pod.js';
import type { RevisionWorld, RolloutPatience } from './world.js';

/** Reason why a revision cannot be deployed. */
export interface RevisionFailure {
  readonly reason: string;
  readonly message: string;
}

const CRASHES_TO_GIVE_UP = 3;
/**
 * Reason of a node of processes for an image that it does not have: it pulls none, so the pod would wait
 * indefinitely.
 */
const NEVER_PULLED = 'ErrImageNeverPull';
const PULL_REASONS = new Set(['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', NEVER_PULLED]);

function graphFailure(status: ContainerStatus): RevisionFailure | undefined {
  for (const state of [status.state?.terminated, status.lastState?.terminated])
    if (state?.exitCode === EXIT_GRAPH_LOAD_FAILED)
      return {
        reason: REASON.graphLoadFailed,
        message:
          state.message === undefined ? 'a graph failed to load' : readTerminationMessage(state.message),
      };
  return undefined;
}

type Termination = NonNullable<ContainerState['terminated']>;

/** The reason of a container whose node lost it: the node was restarted, or ended without reporting. */
const LOST_BY_NODE = 'ContainerStatusUnknown';

function isNoCrash(ended: Termination): boolean {
  return ended.reason === LOST_BY_NODE || outageEnd(ended) !== undefined;
}

/**
 * Message of a container that ended because a dependency was unavailable; undefined when it ended otherwise.
 */
function outageEnd({ exitCode, message = '' }: Termination): string | undefined {
  if (exitCode !== EXIT_DEPENDENCY_UNAVAILABLE) return undefined;
  const left = parseTerminationMessage(message);
  return left?.reason === REASON.dependencyUnavailable ? left.message : undefined;
}

/**
 * Dependency that a pod waits for which is not ready. Its present answer counts more than how its container
 * ended before.
 */
function podOutage(pod: Pod, answer: PodAnswer | undefined): string | undefined {
  if (answer) return answer.waitingFor;
  for (const { ready, state, lastState } of containerStatuses(pod)) {
    const ended = state?.terminated ?? lastState?.terminated;
    const found = ready || !ended ? undefined : outageEnd(ended);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The dependency whose absence keeps pods of the revision from being ready: nothing that the revision did, or can mend. */
export function findOutage({ pods, answers }: RevisionWorld): RevisionFailure | undefined {
  for (const pod of pods) {
    const message = podOutage(pod, answers?.get(pod.metadata.name));
    if (message !== undefined) return { reason: REASON.dependencyUnavailable, message };
  }
  return undefined;
}

/** Condition of a Deployment whose pods cannot be created. */
const REPLICA_FAILURE = 'ReplicaFailure';
/** Reasons of containers that will start by themselves. */
const STARTS = new Set(['ContainerCreating', 'PodInitializing']);

/** Progress of a pod that starts as it should. */
const STARTING = 'starting';

/**
 * Obstacle of a revision that may still become ready: the answer of a pod, else the report of its node or its
 * controller on the newest pod, on its containers, or on pods that could not be created.
 */
export function findProgress(world: RevisionWorld): string | undefined {
  const { answers, pods, workload, queue } = world;
  const [said] = [...(answers?.values() ?? [])].flatMap(({ progress }) => progress ?? []);
  if (said !== undefined) return said === STARTING ? undefined : said;
  const created = ({ metadata }: Pod): string => metadata.creationTimestamp ?? '';
  const [newest] = pods.toSorted((a, b) => (created(a) < created(b) ? 1 : -1));
  const refusal = [workload, queue].flatMap((one) => creationTrouble(one) ?? []).at(0);
  if (!newest) return refusal;
  return placementTrouble(newest) ?? containerTrouble(newest) ?? refusal ?? crashOf(world)?.failure.message;
}

/**
 * Reason why a Deployment has fewer pods than it should: an unknown service account, a quota, an admission
 * that refuses them.
 */
function creationTrouble(workload: Deployment | undefined): string | undefined {
  const found = workload?.status?.conditions?.find(({ type }) => type === REPLICA_FAILURE);
  return found?.status === 'True' ? `pods cannot be created: ${found.message ?? found.reason}` : undefined;
}

/** Obstacle of the newest pod's containers, where that is more than a start. */
function containerTrouble(pod: Pod): string | undefined {
  for (const { name, state } of containerStatuses(pod)) {
    const { reason, message } = state?.waiting ?? {};
    if (reason === undefined || STARTS.has(reason) || reason === 'CrashLoopBackOff') continue;
    return `container ${name} waits: ${[reason, message].filter(Boolean).join(': ')}`;
  }
  return undefined;
}

/**
 * Reason why no node runs a pod. Its controller makes others, which may fare better, so this is no failure of
 * the revision.
 */
function placementTrouble({ metadata: { name }, status }: Pod): string | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === POD_SCHEDULED);
  if (scheduled?.status === 'False')
    return `pod ${name} is not scheduled: ${scheduled.message ?? scheduled.reason}`;
  const wasTaken = (status?.containerStatuses ?? []).length > 0;
  if (status?.reason === undefined || wasTaken) return undefined;
  return `pod ${name} was rejected: ${[status.reason, status.message].filter(Boolean).join(': ')}`;
}

function crashLoop(status: ContainerStatus): RevisionFailure | undefined {
  const last = status.lastState?.terminated ?? status.state?.terminated;
  if (status.restartCount < CRASHES_TO_GIVE_UP || !last || status.ready || isNoCrash(last)) return undefined;
  return { reason: REASON.crashLoop, message: crashText(status.name, endsOf(status), last) };
}

function pullFailure(
  { spec }: Pod,
  status: ContainerStatus,
  ageMs: number,
  patience: RolloutPatience,
): RevisionFailure | undefined {
  const waiting = status.state?.waiting;
  const reason = waiting?.reason ?? '';
  // on a node of containers others may load the image meanwhile, whatever the pull policy of the container
  const isFinal = reason === NEVER_PULLED && selectsProcessRuntime(spec);
  if (!PULL_REASONS.has(reason) || (!isFinal && ageMs < patience.imagePullMs)) return undefined;
  return {
    reason: REASON.imagePullFailed,
    message: `pulling the image failed: ${waiting?.message ?? waiting?.reason}`,
  };
}

/** The node says which field of the pod it cannot honour; a pod's spec never changes, so neither will the answer. */
function refusalByNode({ status }: Pod): RevisionFailure | undefined {
  const found = status?.conditions?.find(({ type }) => type === POD_SUPPORTED);
  if (found?.status !== 'False') return undefined;
  return { reason: REASON.podRefused, message: found.message ?? 'the node refused the pod' };
}

/**
 * Meaning of an error for the objects of a revision: `blocked` until a person frees capacity or a name, or
 * `failed` because the API server will never accept them. Undefined for transient errors.
 */
export function refusalOf(
  error: unknown,
): { readonly kind: 'blocked' | 'failed'; readonly failure: RevisionFailure } | undefined {
  if (error instanceof TerminalError && error.reason === REASON.notOurs)
    return { kind: 'blocked', failure: { reason: REASON.notOurs, message: error.message } };
  // rights and namespaces of another cluster are given by the person who started the listener there
  if (isForbidden(error) || isNotFound(error))
    return {
      kind: 'blocked',
      failure: {
        reason: REASON.placeRefused,
        message: `the API server of the listener refused the Deployment of the revision: ${error.message}; for a remote listener apply "agentplane listener manifest" again`,
      },
    };
  if (!isInvalid(error)) return undefined;
  const message = `the API server refused the Deployment of the revision: ${error.message}`;
  return { kind: 'failed', failure: { reason: REASON.invalidWorkload, message } };
}

function ageMs(createdAt: string | undefined, now: Date, { awakeSinceMs = 0 }: RolloutPatience): number {
  return createdAt === undefined ? 0 : now.getTime() - Math.max(awakeSinceMs, Date.parse(createdAt));
}

/**
 * Time since which the revision has been deploying, in milliseconds. Taken from its own status, where
 * `WorkloadsReady` is `Unknown`, and not from the age of its workload: a revision that was suspended
 * meanwhile has an old workload and new pods.
 */
export function deployingSince(
  { revision }: RevisionWorld,
  now: Date,
  { awakeSinceMs = 0 }: RolloutPatience,
): number {
  const workloads = findCondition(revision.status?.conditions, CONDITION.workloadsReady);
  if (workloads?.status !== 'Unknown') return now.getTime();
  const sinceMs = Date.parse(workloads.lastTransitionTime);
  // in the future: the clock was set back since
  return sinceMs > now.getTime() ? awakeSinceMs || now.getTime() : Math.max(awakeSinceMs, sinceMs);
}

/** Number of ends of a serving pod's container after which the revision has failed. */
const CRASHES_TO_FALL = 2;

/** The container of a revision that ended and is not ready again, with how often it has. */
function crashOf({
  pods,
}: RevisionWorld): { readonly failure: RevisionFailure; readonly times: number } | undefined {
  for (const status of pods.flatMap(containerStatuses)) {
    const ended = status.state?.terminated ?? status.lastState?.terminated;
    if (status.ready || !ended || ended.exitCode === 0 || isNoCrash(ended)) continue;
    const times = Math.max(1, endsOf(status));
    return { failure: { reason: REASON.crashed, message: crashText(status.name, times, ended) }, times };
  }
  return undefined;
}

/**
 * The graph hosts of a revision's pods that end repeatedly without any requests, which is the agent's fault
 * and never ends a container. For several pods the number of the best one that answers counts.
 */
export function hostCrashOf({
  answers,
}: RevisionWorld): { readonly failure: RevisionFailure; readonly times: number } | undefined {
  const all = [...(answers?.values() ?? [])];
  const times = Math.min(...all.map(({ hostEnds = 0 }) => hostEnds));
  if (all.length === 0 || times === 0) return undefined;
  const [said] = all.flatMap(({ progress }) => progress ?? []);
  const message = said ?? `graph host ended ${times} times with nothing to do`;
  return { failure: { reason: REASON.crashLoop, message }, times };
}

/** Reasons of a container that ended which add nothing to its exit code. */
const PLAIN_ENDS = new Set(['Error', 'Completed']);

function crashText(container: string, times: number, ended: Termination): string {
  const { exitCode, reason, message = '' } = ended;
  const detail = message === '' ? '' : `: ${readTerminationMessage(message).trim()}`;
  const often = times === 1 ? 'exited' : `exited ${times} times, last`;
  const cause = reason === undefined || PLAIN_ENDS.has(reason) ? '' : ` (${reason})`;
  return `container ${container} ${often} with code ${exitCode}${cause}${detail}`;
}

/** Reason why a revision that serves is not ready, as far as its pods tell. */
export function findTrouble(world: RevisionWorld): RevisionFailure | undefined {
  for (const status of world.pods.flatMap(containerStatuses)) {
    const failure = graphFailure(status);
    if (failure && !status.ready) return failure;
  }
  const outage = findOutage(world);
  if (outage) return outage;
  const crash = crashOf(world);
  if (!crash) return undefined;
  const reason = crash.times >= CRASHES_TO_GIVE_UP ? REASON.crashLoop : crash.failure.reason;
  return { ...crash.failure, reason };
}

/**
 * Reason why a revision that serves has failed: none of its pods is ready, or none that answers keeps its
 * graph host, and that is its own doing. A container or a graph host that ends once is started again and may
 * do well; nothing that depends on the machine or on others counts.
 */
export function judgeServing(
  world: RevisionWorld,
  now: Date,
  patience: RolloutPatience,
): RevisionFailure | undefined {
  const { revision, workload } = world;
  const hostCrash = hostCrashOf(world);
  if (hostCrash && hostCrash.times >= CRASHES_TO_FALL) return hostCrash.failure;
  if (!workload || (workload.status?.readyReplicas ?? 0) > 0) return undefined;
  const trouble = findTrouble(world);
  if (trouble?.reason === REASON.dependencyUnavailable) return undefined;
  if (trouble?.reason === REASON.graphLoadFailed) return trouble;
  const crash = crashOf(world);
  if (crash && crash.times >= CRASHES_TO_FALL)
    return { reason: REASON.crashLoop, message: crash.failure.message };
  const ready = findCondition(revision.status?.conditions, CONDITION.ready);
  if (ready?.status !== 'False' || now.getTime() < (patience.graceUntilMs ?? 0)) return undefined;
  const sinceMs = Math.max(patience.awakeSinceMs ?? 0, Date.parse(ready.lastTransitionTime));
  if (now.getTime() - sinceMs < patience.unreadyMs) return undefined;
  const progress = findProgress(world);
  const message = `no pod has been ready for ${Math.round(patience.unreadyMs / 1000)} s${progress ? `; ${progress}` : ''}`;
  return trouble ?? { reason: REASON.notReady, message };
}

/** Prospect of a revision that is on its way up. */
export type Prospect =
  | { readonly kind: 'deploying' }
  /**
   * Something outside of it is unavailable: it continues by itself once that is back, and no deadline counts.
   */
  | { readonly kind: 'held'; readonly failure: RevisionFailure }
  /** Its own fault, or nothing else is known: final. */
  | { readonly kind: 'failed'; readonly failure: RevisionFailure };

/**
 * Judges a revision that is built and not ready: the one place that distinguishes "it cannot run" from "something that it
 * depends on is unavailable". The clearest reason comes first: a graph that does not load needs no database for that.
 */
export function judgeProspect(world: RevisionWorld, now: Date, patience: RolloutPatience): Prospect {
  const { pods } = world;
  const statuses = pods.flatMap((pod) =>
    containerStatuses(pod).map((status) => ({
      pod,
      status,
      ageMs: ageMs(pod.metadata.creationTimestamp, now, patience),
    })),
  );
  for (const pod of pods) {
    const failure = refusalByNode(pod);
    if (failure) return { kind: 'failed', failure };
  }
  for (const { status } of statuses) {
    const failure = graphFailure(status);
    if (failure) return { kind: 'failed', failure };
  }
  const outage = findOutage(world);
  if (outage) return { kind: 'held', failure: outage };
  const isGrace = now.getTime() < (patience.graceUntilMs ?? 0);
  for (const { pod, status, ageMs: age } of statuses) {
    const failure = (isGrace ? undefined : pullFailure(pod, status, age, patience)) ?? crashLoop(status);
    if (failure) return { kind: 'failed', failure };
  }
  const hostCrash = hostCrashOf(world);
  if (hostCrash && hostCrash.times >= CRASHES_TO_GIVE_UP)
    return { kind: 'failed', failure: hostCrash.failure };
  if (isGrace || now.getTime() - deployingSince(world, now, patience) <= patience.readinessMs)
    return { kind: 'deploying' };
  const progress = findProgress(world);
  const message = `no pod became ready within ${Math.round(patience.readinessMs / 1000)} s${progress ? `; ${progress}` : ''}`;
  return { kind: 'failed', failure: { reason: REASON.readinessTimeout, message } };
}
