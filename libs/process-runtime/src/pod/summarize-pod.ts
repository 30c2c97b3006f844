import {
  type ContainerState,
  type ContainerStatus,
  type Pod,
  POD_SUPPORTED,
  type PodCondition,
  type PodStatus,
} from '#lib/resources';
import type { ContainerView } from '../container/container-view.js';
import { kubeTime } from '../pace.js';
import { isSidecar } from './pod-containers.js';

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/** State of a pod in its worker, from which its status is computed. */
export interface PodView {
  readonly startTime: Date;
  readonly init: readonly ContainerView[];
  readonly containers: readonly ContainerView[];
  /** The pod is ended by the node whatever its containers say. */
  readonly verdict?: { readonly reason: string; readonly message: string };
  /** Set when the node lacks capacity for the pod: nothing of it is started. */
  readonly rejection?: { readonly reason: string; readonly message: string } | undefined;
  /** Fields of its spec that cannot be honoured; nothing of it is started then. */
  readonly refusal?: string | undefined;
  readonly isTerminating: boolean;
}

/** The status of a pod as a kubelet would report it. No podIP: endpoints refuse loopback. */
export function summarizePod(pod: Pod, view: PodView, now: Date): PodStatus {
  if (view.rejection) return rejectedStatus(view.startTime, view.rejection);
  const phase = phaseOf(pod, view);
  const isOver = phase === 'Succeeded' || phase === 'Failed';
  const goesOn = sidecarNames(pod);
  const isInitialized = view.init.every(({ name, isStarted, last, phase: at }) =>
    // one that is started again was started
    goesOn.has(name) ? isStarted || last !== undefined : at.kind === 'terminated' && at.result.exitCode === 0,
  );
  const judged = judgedOf(pod, view);
  const areReady = !isOver && judged.every(({ isReady }) => isReady);
  const notReady = judged.filter(({ isReady }) => !isReady).map(({ name }) => name);
  const readiness: Draft = areReady
    ? { status: 'True' }
    : phase === 'Succeeded'
      ? { status: 'False', reason: 'PodCompleted' }
      : {
          status: 'False',
          reason: 'ContainersNotReady',
          message: `containers with unready status: [${notReady.join(' ')}]`,
        };
  const wanted: Readonly<Record<string, Draft>> = {
    Initialized: isInitialized ? { status: 'True' } : { status: 'False', reason: 'ContainersNotInitialized' },
    ContainersReady: readiness,
    ...(view.refusal === undefined
      ? {}
      : { [POD_SUPPORTED]: { status: 'False', reason: 'NotSupported', message: view.refusal } }),
    Ready: view.isTerminating && areReady ? { status: 'False', reason: 'PodTerminating' } : readiness,
  };
  return {
    phase,
    ...(view.verdict && phase === 'Failed' ? view.verdict : {}),
    conditions: conditionsOf(pod, wanted, now),
    startTime: kubeTime(view.startTime),
    hostIP: '127.0.0.1',
    ...(view.init.length > 0 ? { initContainerStatuses: view.init.map(statusOf) } : {}),
    containerStatuses: view.containers.map(statusOf),
  };
}

/** A sidecar counts as the containers beside it. */
function judgedOf(pod: Pod, { init, containers }: PodView): readonly ContainerView[] {
  const goesOn = sidecarNames(pod);
  return [...init.filter(({ name }) => goesOn.has(name)), ...containers];
}

/** True for a pod whose condition `Ready` is true; only a container that runs is ready. */
export function isServing(pod: Pod, view: PodView): boolean {
  return !view.rejection && !view.isTerminating && judgedOf(pod, view).every(({ isReady }) => isReady);
}

/** All that a kubelet says of a pod that it rejects; the conditions of others stay as they are. */
function rejectedStatus(startTime: Date, { reason, message }: NonNullable<PodView['rejection']>): PodStatus {
  return {
    phase: 'Failed',
    reason,
    message: `Pod was rejected: ${message}`,
    startTime: kubeTime(startTime),
  };
}

function sidecarNames({ spec }: Pod): ReadonlySet<string> {
  return new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
}

type Draft = Pick<PodCondition, 'status' | 'reason' | 'message'>;

/** Ours after those of others (the scheduler's `PodScheduled`); the time moves only with the status. */
function conditionsOf(pod: Pod, wanted: Readonly<Record<string, Draft>>, now: Date): PodCondition[] {
  const before = pod.status?.conditions ?? [];
  const others = before.filter(({ type }) => !(type in wanted));
  const ours = Object.entries(wanted).map(([type, draft]) => {
    const known = before.find((condition) => condition.type === type);
    const since = known?.status === draft.status ? known.lastTransitionTime : undefined;
    return { type, ...draft, lastTransitionTime: since ?? kubeTime(now) };
  });
  return [...others, ...ours];
}

/** The rules of a kubelet: a container that will be started again counts as running. */
function phaseOf(pod: Pod, { init, containers, verdict, isTerminating }: PodView): PodPhase {
  const hasRun = ({ phase, last }: ContainerView): boolean => phase.kind !== 'waiting' || last !== undefined;
  const isEnded = ({ phase }: ContainerView): boolean => phase.kind === 'terminated';
  const hasFailed = ({ phase }: ContainerView): boolean =>
    phase.kind === 'terminated' && phase.result.exitCode !== 0;
  const { restartPolicy = 'Always' } = pod.spec;
  const goesOn = sidecarNames(pod);
  // a sidecar is asked to end only after the others have
  const isLeft = init.some(({ name, phase }) => goesOn.has(name) && phase.kind === 'running');
  const areAllEnded = !isLeft && containers.every((container) => isEnded(container) || !hasRun(container));

  if (verdict && containers.every(({ phase }) => phase.kind !== 'running')) return 'Failed';
  if (restartPolicy === 'Never' && init.some((one) => !goesOn.has(one.name) && hasFailed(one)))
    return 'Failed';
  if (!containers.some(hasRun)) return 'Pending';
  if (isTerminating && areAllEnded) return containers.some(hasFailed) ? 'Failed' : 'Succeeded';
  if (!containers.every(hasRun)) return 'Pending';
  if (restartPolicy === 'Always' || isLeft || !containers.every(isEnded)) return 'Running';
  if (containers.some(hasFailed)) return restartPolicy === 'Never' ? 'Failed' : 'Running';
  return 'Succeeded';
}

/** A status that holds what a spec says in full is refused as too large, and then reported again without end. */
const MAX_LETTERS = 4_096;

function short(text: string): string {
  return text.slice(0, MAX_LETTERS);
}

function statusOf(view: ContainerView): ContainerStatus {
  const { name, containerId, phase, last, restartCount, isReady, isStarted } = view;
  const image = short(view.image);
  return {
    name,
    image,
    imageID: phase.kind === 'waiting' && !last ? '' : image,
    ...(containerId === undefined ? {} : { containerID: containerId }),
    ready: isReady,
    started: isStarted,
    restartCount,
    state: stateOf(view),
    lastState: last ? { terminated: shortened(last) } : {},
  };
}

function shortened<T extends { readonly message?: string }>(state: T): T {
  return state.message === undefined ? state : { ...state, message: short(state.message) };
}

function stateOf({ phase }: ContainerView): ContainerState {
  switch (phase.kind) {
    case 'waiting':
      return {
        waiting: shortened({
          reason: phase.reason,
          ...(phase.message === undefined ? {} : { message: phase.message }),
        }),
      };
    case 'running':
      return { running: { startedAt: kubeTime(phase.startedAt) } };
    case 'terminated':
      return { terminated: shortened(phase.result) };
    default:
      return phase satisfies never;
  }
}
