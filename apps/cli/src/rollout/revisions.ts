import { visibleText } from '#lib/command-line';
import {
  ANNOTATION,
  type Deployment as KubeDeployment,
  DEPLOYMENTS,
  idOf,
  isUuid,
  LABEL,
  RESOURCES,
} from '#lib/resources';
import type { RestRequests } from '#lib/rest-client';
import type { Clock } from '#lib/time';
import { CommandError } from '../command-error.js';
import type { KubeAccess } from '../context/open-kube.js';
import { deploymentIdOf } from '../rest/find-id.js';
import { progressLines } from '../waiting/follow-object.js';

type Rest = RestRequests;

/** A deployment as the REST interface answers it, as far as rollouts need it. */
export interface Deployment {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  /** Reason of its condition Ready, which is `Ready` while it serves as asked for. */
  readonly status_reason: string | null;
  readonly status_message: string | null;
  readonly latest_revision_id: string | null;
  readonly active_revision_id: string | null;
  readonly url: string | null;
}

/** A revision as the REST interface answers it. */
export interface Revision {
  readonly id: string;
  /** Null until it is made; absent from platforms of earlier versions. */
  readonly name?: string | null;
  readonly created_at: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly status_message: string | null;
  /** Past the limit of the history: its variables are not kept. */
  readonly archived?: boolean;
  readonly source_revision_config: {
    readonly image_uri: string | null;
    readonly repo_ref: string | null;
  };
}

const PAGE = 100;
/** Beginnings of ids that are shorter fit too many. */
const SHORTEST = 4;

/** @param name of a deployment, or its id @throws CommandError `notFound`, RestError */
export async function readDeployment(rest: Rest, name: string): Promise<Deployment> {
  return await rest.request<Deployment>('GET', `/v2/deployments/${await deploymentIdOf(rest, name)}`);
}

export async function readRevision(rest: Rest, { id }: Deployment, revisionId: string): Promise<Revision> {
  return await rest.request<Revision>('GET', `/v2/deployments/${id}/revisions/${revisionId}`);
}

/** The revisions that are kept, newest first. */
export async function readRevisions(rest: Rest, { id }: Deployment): Promise<readonly Revision[]> {
  const found: Revision[] = [];
  for (;;) {
    const path = `/v2/deployments/${id}/revisions?limit=${PAGE}&offset=${found.length}`;
    const { resources } = await rest.request<{ readonly resources: readonly Revision[] }>('GET', path);
    found.push(...resources);
    if (resources.length < PAGE) return found;
  }
}

/**
 * The revision that a person means: by its name, its number, its id or the beginning of that.
 * @throws CommandError `notFound`, `usage`
 */
export function findRevision(name: string, revisions: readonly Revision[], wanted: string): Revision {
  const start = wanted.toLowerCase();
  const isWhole: boolean = isUuid(start);
  const number = /^\d{1,5}$/.test(start) ? `-${start.padStart(5, '0')}` : undefined;
  const found = revisions.filter(({ id, name: called }) => {
    if (called && (called === start || (number !== undefined && called.endsWith(number)))) return true;
    return isWhole ? id === start : start.length >= SHORTEST && id.startsWith(start);
  });
  const [only] = found;
  if (only && found.length === 1) return only;
  if (found.length > 1)
    throw new CommandError(
      'usage',
      `${found.length} revisions of ${name} begin with ${wanted}: give more of the id`,
    );
  throw new CommandError(
    'notFound',
    `deployment ${name} has no revision ${wanted}: "agentplane revisions ${name}" lists them`,
  );
}

/**
 * The revision that served before the present one, with its variables, which an archived one has not. @throws
 * CommandError `failed` without one
 */
export function formerRevision(
  { name, active_revision_id: active }: Deployment,
  revisions: readonly Revision[],
): Revision {
  const at = revisions.findIndex(({ id }) => id === active);
  const former = revisions.slice(at + 1).find(({ status, archived }) => status === 'DEPLOYED' && !archived);
  if (former) return former;
  throw new CommandError(
    'failed',
    `deployment ${name} has no earlier revision that served and is not archived: "agentplane revisions ${name}" lists all, "--revision" names one`,
  );
}

const LOOK_MS = 1_000;
/** Reasons of the condition Ready while it is true: a deployment at zero pods serves all requests. */
const SERVING: ReadonlySet<string | null | undefined> = new Set(['Ready', 'Asleep', 'Waking']);
export const FAILED: ReadonlySet<string> = new Set([
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
]);

export interface RestWait {
  readonly rest: RestRequests;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** One line, each time that something else is waited for. */
  readonly onProgress: (message: string) => void;
}

/** Result of a look: done, or the reason for waiting. */
type Look = { readonly kind: 'done' } | { readonly kind: 'pending'; readonly message: string };

/**
 * Waits until a revision serves.
 * @throws CommandError `failed` with the reason, `timedOut`
 */
export async function waitForRevision(
  wait: RestWait,
  deployment: Deployment,
  revisionId: string,
): Promise<void> {
  const { name } = deployment;
  await look(wait, name, async () => {
    const { status, ...found } = await readRevision(wait.rest, deployment, revisionId);
    const why = reasonText(found);
    if (FAILED.has(status))
      throw new CommandError(
        'failed',
        `revision ${revisionId} of ${name} is ${status}${why}; "agentplane events ${name}" and "agentplane logs ${name} --revision ${revisionId}" show more`,
      );
    return status === 'DEPLOYED'
      ? { kind: 'done' }
      : { kind: 'pending', message: waitingText(found, status) };
  });
}

/** Waits until a deployment serves as it is asked to. @throws CommandError `timedOut` */
export async function waitUntilServing(wait: RestWait, { id, name }: Deployment): Promise<void> {
  await look(wait, name, async () => {
    const found = await wait.rest.request<Deployment>('GET', `/v2/deployments/${id}`);
    return found.status === 'READY' && SERVING.has(found.status_reason)
      ? { kind: 'done' }
      : { kind: 'pending', message: waitingText(found, found.status) };
  });
}

/**
 * Waits until the pods of a restart have replaced the former ones. Workloads of another cluster cannot be seen, and are not
 * waited for. @throws CommandError `timedOut`
 */
export async function waitForPods(
  { client }: KubeAccess,
  wait: RestWait,
  { id, name }: Deployment,
): Promise<void> {
  const [deployment] = (await client.list(RESOURCES.AgentDeployment)).items.filter((one) => idOf(one) === id);
  const stamp = deployment?.metadata.annotations?.[ANNOTATION.restart];
  if (!deployment || stamp === undefined) return;
  const { namespace = '' } = deployment.metadata;
  const labelSelector = `${LABEL.deployment}=${deployment.metadata.name}`;
  await look(wait, name, async () => {
    const { items } = await client.list(DEPLOYMENTS, { namespace, labelSelector });
    const stamped = items.filter(
      ({ spec }) => spec.template.metadata?.annotations?.[ANNOTATION.restart] === stamp,
    );
    const isDone = items.length === 0 || (stamped.length > 0 && stamped.every(isReplaced));
    return isDone ? { kind: 'done' } : { kind: 'pending', message: 'starting new pods' };
  });
}

function isReplaced({ metadata, spec, status = {} }: KubeDeployment): boolean {
  const wanted = spec.replicas ?? 1;
  const { observedGeneration, replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  return (
    observedGeneration === metadata.generation &&
    [replicas, updatedReplicas, availableReplicas].every((count) => count === wanted)
  );
}

async function look(
  { clock, timeoutMs, onProgress }: RestWait,
  name: string,
  once: () => Promise<Look>,
): Promise<void> {
  const untilMs = clock.monotonicMs() + timeoutMs;
  const show = progressLines(onProgress, () => clock.monotonicMs());
  for (let last = ''; ; await clock.sleep(LOOK_MS)) {
    const found = await once();
    if (found.kind === 'done') return;
    show(`${name}: ${found.message}`);
    last = found.message;
    if (clock.monotonicMs() >= untilMs)
      throw new CommandError(
        'timedOut',
        `${name} does not serve after ${timeoutMs / 1_000} s: ${last}; it goes on, and "agentplane revisions ${name}" shows how far`,
      );
  }
}

type Reasons = Pick<Revision, 'status_reason' | 'status_message'>;

/** The message, which is for people; without one the status and its reason. */
function waitingText(found: Reasons, status: string): string {
  const message = visibleText(found.status_message ?? '').replaceAll('\n', ' ');
  return message === '' ? `${status}${reasonText(found)}` : message;
}

function reasonText({ status_reason: reason, status_message: message }: Reasons): string {
  const parts = [reason, message].filter((part) => part !== null && part !== '');
  return parts.length === 0 ? '' : visibleText(` (${parts.join(': ').replaceAll('\n', ' ')})`);
}
