import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import type { KubeClient } from '#lib/kube';
import {
  type AgentDeployment,
  type AgentRevision,
  type ConfigMap,
  CONDITION,
  CONFIG_MAPS,
  findCondition,
  idOf,
  isConditionTrue,
  LABEL,
  type Pod,
} from '#lib/resources';
import { byTime, keptLines, keptNames, type LogLine } from '#lib/pod-logs';
import type { DeploymentRevisions } from '../deployment/deployment-revisions.js';
import type { Deployments } from '../deployment/deployments.js';
import type { LogsQuery } from './log-query.js';
import type { PodSelection } from './pod-lists.js';

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
