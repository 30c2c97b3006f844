import { podsOfRun } from '#lib/export-plan';
import type { KubeClient } from '#lib/kube';
import type { PodChoice } from '#lib/pod-logs';
import {
  type AgentRevision,
  CONDITION,
  idOf,
  isConditionTrue,
  type KubeObject,
  LABEL,
  PODS,
  type ResourceRef,
  RESOURCES,
} from '#lib/resources';
import { CommandError } from '../command-error.js';

/** A kind that has pods, by what it is called and which pods are its own. */
interface OwnerKind {
  readonly title: string;
  readonly words: readonly string[];
  readonly ref: ResourceRef;
  /** Pods of the object of this name, wherever they run. */
  readonly pods: (name: string, namespace: string, object: KubeObject) => PodChoice;
  /** Its pods end by themselves, and their logs with them. */
  readonly ends?: true;
}

/** Kinds in the order in which a bare name is looked for. */
const KINDS: readonly OwnerKind[] = [
  {
    title: 'AgentDeployment',
    words: ['adep', 'agentdeployment', 'agentdeployments'],
    ref: RESOURCES.AgentDeployment,
    pods: (name, namespace) => ({ namespace, labelSelector: `${LABEL.deployment}=${name}` }),
  },
  {
    title: 'BulkExportRun',
    words: ['bxr', 'bulkexportrun', 'bulkexportruns'],
    ref: RESOURCES.BulkExportRun,
    pods: (_name, _namespace, run) => podsOfRun(run),
    ends: true,
  },
  {
    title: 'AgentRevision',
    words: ['arev', 'agentrevision', 'agentrevisions'],
    ref: RESOURCES.AgentRevision,
    pods: (name, namespace) => ({ namespace, labelSelector: `${LABEL.revision}=${name}` }),
  },
  {
    title: 'Listener',
    words: ['lsn', 'listener', 'listeners'],
    ref: RESOURCES.Listener,
    pods: (name, namespace) => ({
      namespace,
      labelSelector: `${LABEL.listener}=${name},${LABEL.component}=listener`,
    }),
  },
  {
    title: 'Pod',
    words: ['po', 'pod', 'pods'],
    ref: PODS,
    pods: (name, namespace) => ({ namespace, fieldSelector: `metadata.name=${name}` }),
    ends: true,
  },
];

/** Object whose logs are shown. */
export interface LogOwner {
  /** Name for people, such as `AgentRevision weather-00002`. */
  readonly title: string;
  /** Words of the command that describes it: `describe adep weather`. */
  readonly describedBy: string;
  readonly namespace: string;
  readonly pods: PodChoice;
  readonly endsWithPods: boolean;
  /** The revision whose build from git belongs to the answer: its log is kept once its pod is gone. */
  readonly built: AgentRevision | undefined;
  /** The revision of which something may be kept, since it has failed. */
  readonly failed: AgentRevision | undefined;
}

/**
 * Finds whose logs are meant by a bare name or by `KIND/NAME`.
 * @param revision id, name or number of one revision of a deployment
 * @throws CommandError `notFound`, `usage`
 */
export async function findLogOwner(
  client: KubeClient,
  word: string,
  { namespace, revision: wanted }: { readonly namespace: string; readonly revision: string | undefined },
): Promise<LogOwner> {
  const [kind, object] = await findObject(client, word, namespace);
  const { name } = object.metadata;
  const isRevision = kind.ref === RESOURCES.AgentRevision;
  if (kind.ref !== RESOURCES.AgentDeployment && !isRevision) {
    if (wanted !== undefined)
      throw new CommandError('usage', `--revision is for deployments: ${kind.title} ${name} has none`);
    return ownerOf(kind, object, namespace, undefined);
  }
  const revisions = await revisionsOf(client, isRevision ? undefined : name, namespace);
  if (!isRevision && wanted === undefined) return ownerOf(kind, object, namespace, revisions.at(-1));
  const revision = revisions.find(
    (one) =>
      one.metadata.name === (isRevision ? name : wanted) ||
      idOf(one) === wanted ||
      `${one.spec.number}` === wanted,
  );
  const ofRevisions = KINDS.find(({ ref }) => ref === RESOURCES.AgentRevision);
  if (revision && ofRevisions) return ownerOf(ofRevisions, revision, namespace, revision);
  throw new CommandError(
    'notFound',
    `AgentDeployment ${name} has no revision ${wanted ?? ''}: "agentplane get arev" lists ids and names`,
  );
}

function ownerOf(
  kind: OwnerKind,
  object: KubeObject,
  namespace: string,
  revision: AgentRevision | undefined,
): LogOwner {
  const { name } = object.metadata;
  const isRevision = kind.ref === RESOURCES.AgentRevision;
  return {
    title: `${kind.title} ${name}`,
    describedBy: `${kind.words[0] ?? ''} ${name}`,
    namespace,
    // a revision that repeats another may run on the Deployment of that one
    pods: kind.pods(isRevision ? (revision?.status?.workload ?? name) : name, namespace, object),
    endsWithPods: kind.ends === true,
    built: isRevision || revision?.status?.image === undefined ? revision : undefined,
    failed: revision && isConditionTrue(revision.status?.conditions, CONDITION.failed) ? revision : undefined,
  };
}

/** Oldest first. */
async function revisionsOf(
  client: KubeClient,
  deployment: string | undefined,
  namespace: string,
): Promise<readonly AgentRevision[]> {
  const { items } = await client.list<AgentRevision>(RESOURCES.AgentRevision, { namespace });
  return items
    .filter(({ spec }) => deployment === undefined || spec.deploymentName === deployment)
    .toSorted((a, b) => a.spec.number - b.spec.number);
}

async function findObject(
  client: KubeClient,
  word: string,
  namespace: string,
): Promise<readonly [OwnerKind, KubeObject]> {
  const [kind, name] = word.includes('/') ? word.toLowerCase().split('/') : [undefined, word];
  const candidates = KINDS.filter(({ words }) => kind === undefined || words.includes(kind));
  if (candidates.length === 0 || name === undefined || name === '')
    throw new CommandError(
      'usage',
      `${word} names nothing with logs: use NAME, ${KINDS.map(({ words }) => `${words[0]}/NAME`).join(', ')}`,
    );
  const found = await Promise.all(candidates.map(({ ref }) => client.find(ref, { name, namespace })));
  const at = found.findIndex((object) => object !== undefined);
  const [owner, object] = [candidates[at], found[at]];
  if (owner && object) return [owner, object];
  throw new CommandError(
    'notFound',
    `${candidates.map(({ title }) => title).join(', ')} ${name} does not exist in namespace ${namespace}: "agentplane get adep" and "agentplane get pods" list names`,
  );
}
