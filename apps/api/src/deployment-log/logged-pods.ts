import type { KubeClient } from '#lib/kube';
import {
  type ContainerState,
  type ContainerStatus,
  LABEL,
  type Pod,
  type PodContainer,
  PODS,
  type AgentDeployment,
  type AgentRevision,
  type ConfigMap,
  CONDITION,
  CONFIG_MAPS,
  findCondition,
  idOf,
  isConditionTrue,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { RestingTurns } from '../kubernetes/resting-turns.js';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { byTime, keptLines, keptNames, type LogLine } from '#lib/pod-logs';
import type { DeploymentRevisions } from '../deployment/deployment-revisions.js';
import type { Deployments } from '../deployment/deployments.js';
import type { LogsQuery } from './log-query.js';

/** Maximum number of pods per selection; the rest is left out. */
export const MAX_PODS = 500;
/**
 * Maximum number of containers per pod, not counting init containers; the number of logs that are read at
 * once.
 */
const MAX_CONTAINERS = 64;
/** Valid names of pods; another text would be a selector of its own. */
const POD_NAME = /^[a-z0-9.-]+$/;
/** A pod may have a megabyte and more, and a page is parsed as a whole. */
const PAGE_SIZE = 10;
/** A list is shared for so long. */
const SHARED_MS = 2_000;

/** Selection of pods. */
export interface PodSelection {
  readonly namespace: string;
  readonly labelSelector: string;
  readonly pod?: string | undefined;
}

export interface PodList {
  /** The parts of the pods that logs need: names, containers, which of those have begun and ended. */
  readonly pods: readonly Pod[];
  /** True when there are more than `pods`. */
  readonly isCut: boolean;
}

interface Shared {
  /** Undefined until it has begun. */
  beganMs: number | undefined;
  readonly list: Promise<PodList>;
}

/**
 * Lists of pods for the readers of logs. All readers of the same pods share one list, a namespace has one in
 * flight at a time and pauses after it, and only the parts of each pod that logs need are kept: the objects
 * may be large, and a reader that follows logs needs them for hours.
 */
export class PodLists {
  readonly #shared = new Map<string, Shared>();

  constructor(
    private readonly client: Pick<KubeClient, 'pages'>,
    private readonly turns: RestingTurns,
    private readonly clock: Pick<Clock, 'monotonicMs' | 'after'>,
  ) {}

  /** @param how `isRecent`: a list that began within the last two seconds will do; otherwise one that begins after the call */
  find(selection: PodSelection, { isRecent }: { readonly isRecent: boolean }): Promise<PodList> {
    const key = JSON.stringify([selection.namespace, selection.labelSelector, selection.pod]);
    const known = this.#shared.get(key);
    const oldestMs = this.clock.monotonicMs() - (isRecent ? SHARED_MS : 0);
    if (known && (known.beganMs === undefined || known.beganMs > oldestMs)) return known.list;
    const made: Shared = {
      beganMs: undefined,
      list: this.turns.take(selection.namespace, () => {
        made.beganMs = this.clock.monotonicMs();
        return this.#read(selection);
      }),
    };
    this.#shared.set(key, made);
    const forget = (): void => {
      if (this.#shared.get(key) === made) this.#shared.delete(key);
    };
    made.list.then(() => this.clock.after(SHARED_MS, forget), forget);
    return made.list;
  }

  async #read({ namespace, labelSelector, pod }: PodSelection): Promise<PodList> {
    const pods: Pod[] = [];
    if (pod !== undefined && !POD_NAME.test(pod)) return { pods, isCut: false };
    const pages = this.client.pages<Pod>(PODS, {
      namespace,
      labelSelector,
      pageSize: PAGE_SIZE,
      ...(pod === undefined ? {} : { fieldSelector: `metadata.name=${pod}` }),
    });
    for await (const { items } of pages) {
      if (pods.length + items.length > MAX_PODS) return { pods, isCut: true };
      for (const item of items) pods.push(partOf(item));
    }
    return { pods, isCut: false };
  }
}

function partOf({ metadata, spec, status }: Pod): Pod {
  const { name, namespace, creationTimestamp, labels } = metadata;
  const revision = labels?.[LABEL.revision];
  return {
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(revision === undefined ? {} : { labels: { [LABEL.revision]: revision } }),
    },
    spec: { containers: namesOf(spec.containers), initContainers: namesOf(spec.initContainers) },
    status: {
      ...(status?.phase === undefined ? {} : { phase: status.phase }),
      containerStatuses: statesOf(status?.containerStatuses),
      initContainerStatuses: statesOf(status?.initContainerStatuses),
    },
  };
}

function namesOf(containers: readonly PodContainer[] = []): readonly PodContainer[] {
  return containers.slice(0, MAX_CONTAINERS).map(({ name }) => ({ name }));
}

function statesOf(statuses: readonly ContainerStatus[] = []): readonly ContainerStatus[] {
  return statuses.slice(0, MAX_CONTAINERS).map(({ name, ready, restartCount, state, lastState }) => ({
    name,
    ready,
    restartCount,
    image: '',
    imageID: '',
    state: kindOf(state),
    lastState: kindOf(lastState),
  }));
}

/** Kind of a container's state, without messages and times. */
function kindOf({ running, terminated }: ContainerState = {}): ContainerState {
  return {
    ...(running === undefined ? {} : { running: {} }),
    ...(terminated === undefined ? {} : { terminated: { exitCode: terminated.exitCode } }),
  };
}

/** Target of a request for logs. */
export interface LogTarget {
  readonly deploymentId: string;
  /** Absent: the whole deployment. */
  readonly revisionId?: string;
}

/** The objects of a target, as they were at the time of the request. */
export interface LoggedObjects {
  readonly namespace: string;
  /** Undefined for a revision that was never made: it has no pods. */
  readonly labelSelector: string | undefined;
  /** Revision whose kept output belongs to the answer, once its pods are gone. */
  readonly failed: AgentRevision | undefined;
  /** Revision whose build from git belongs to the answer: its log is kept once its pod is gone. */
  readonly built: AgentRevision | undefined;
  /** Archived output of a revision in the archive. */
  readonly archived: readonly ConfigMap[] | undefined;
  /** Title for people, such as `revision weather-00003`. */
  readonly title: string;
  /** Reason why there may be no lines; undefined when it is unknown. */
  readonly reason: string | undefined;
}

/** Sources of deployments and their revisions. */
export interface LoggedPlaces {
  readonly deployments: Pick<Deployments, 'find'>;
  readonly revisions: Pick<DeploymentRevisions, 'get' | 'held' | 'findOutputs'>;
}

/** The objects of a target in the workspace of the caller. @throws PublicError not_found */
export async function findLogged(
  { deployments, revisions }: LoggedPlaces,
  caller: Caller,
  { deploymentId, revisionId }: LogTarget,
): Promise<LoggedObjects> {
  const deployment = deployments.find(caller, deploymentId);
  const { name, namespace = '' } = deployment.metadata;
  const made = revisions.held(deployment);
  if (revisionId === undefined) {
    const [newest] = made;
    const shown = newest && (await revisions.get(caller, deploymentId, idOf(newest) ?? ''));
    return {
      namespace,
      labelSelector: `${LABEL.deployment}=${name}`,
      failed: newest && hasFailed(newest) ? newest : undefined,
      built: newest && !hasImage(newest) ? newest : undefined,
      archived: undefined,
      title: `deployment ${name}`,
      reason: shown && reasonText(shown),
    };
  }
  const shown = await revisions.get(caller, deploymentId, revisionId);
  const revision = made.find((one) => idOf(one) === revisionId);
  return {
    namespace,
    labelSelector:
      revision &&
      `${LABEL.deployment}=${name},${LABEL.revision}=${revision.status?.workload ?? revision.metadata.name}`,
    failed: revision && hasFailed(revision) ? revision : undefined,
    built: revision,
    archived: shown.archived ? await revisions.findOutputs(caller, deployment, revisionId) : undefined,
    title: revision ? `revision ${revision.metadata.name}` : `revision ${revisionId}`,
    reason: reasonText(shown),
  };
}

/** The pods of a target, or the requested one of them. */
export function selectionOf(
  { namespace, labelSelector }: LoggedObjects,
  { pod }: Pick<LogsQuery, 'pod'>,
): PodSelection | undefined {
  return labelSelector === undefined ? undefined : { namespace, labelSelector, pod };
}

/** The pod of a running build in its own namespace; its log is kept beside the revision afterwards. */
export function buildSelectionOf(
  { built }: LoggedObjects,
  namespace: string | undefined,
  { pod }: Pick<LogsQuery, 'pod'>,
): PodSelection | undefined {
  const { image, build, conditions } = built?.status ?? {};
  const isOver = image !== undefined || findCondition(conditions, CONDITION.built)?.status === 'False';
  if (namespace === undefined || !build || isOver) return undefined;
  return { namespace, labelSelector: `${LABEL.owner}=${built?.metadata.uid ?? ''}`, pod };
}

/**
 * The end of the output of a failed revision, and of its build; nothing for those that have pods, since their
 * logs have the same text.
 */
export async function keptOutput(
  client: Pick<KubeClient, 'find'>,
  { namespace, failed, built, archived }: LoggedObjects,
  pods: readonly Pod[],
  { pod, container, previous, tail }: Pick<LogsQuery, 'pod' | 'container' | 'previous' | 'tail'>,
): Promise<readonly LogLine[]> {
  if (previous) return [];
  const names = keptNames({ built, failed }, pods);
  const found =
    archived ?? (await Promise.all(names.map((name) => client.find(CONFIG_MAPS, { namespace, name }))));
  const lines = found.flatMap((kept) => (kept ? keptLines(kept, { container, tail }) : []));
  return lines.filter((line) => pod === undefined || line.pod === pod).sort(byTime);
}

/** True while the deployment exists: following its logs ends with it. */
export function isThere(
  { deployments }: LoggedPlaces,
  caller: Caller,
  { deploymentId }: LogTarget,
): AgentDeployment | undefined {
  try {
    return deployments.find(caller, deploymentId);
  } catch (error) {
    if (error instanceof PublicError && error.code === 'not_found') return undefined;
    throw error;
  }
}

function hasImage({ status }: AgentRevision): boolean {
  return status?.image !== undefined;
}

function hasFailed({ status }: AgentRevision): boolean {
  return isConditionTrue(status?.conditions, CONDITION.failed);
}

function reasonText(shown: {
  readonly status: string;
  readonly status_reason: string | null;
  readonly status_message: string | null;
}): string {
  const { status, status_reason: reason, status_message: message } = shown;
  return [status, reason, message].filter((part) => part !== null && part !== '').join(': ');
}
