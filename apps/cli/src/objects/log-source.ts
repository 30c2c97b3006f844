import type { KubeClient } from '#lib/kube';
import { LABEL, type Pod, PODS, type ResourceRef, RESOURCES } from '#lib/resources';
import { CommandError } from '../command-error.js';

/** A kind that has pods, by what it is called and which pods are its own. */
interface PodOwner {
  readonly title: string;
  readonly words: readonly string[];
  readonly ref: ResourceRef;
  /** Pods of the object of this name, wherever they run. */
  readonly pods: (name: string, namespace: string) => PodSelection;
}

interface PodSelection {
  /** Absent: the pods are in the platform's own namespace, and the labels say whose they are. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** In the order in which a bare name is looked for. */
const OWNERS: readonly PodOwner[] = [
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
    pods: (name, namespace) => ({
      labelSelector: `${LABEL.exportRun}=${name},${LABEL.exportNamespace}=${namespace}`,
    }),
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
  },
];

/**
 * The pods whose logs are meant by a bare name or by `KIND/NAME`, oldest first.
 * @throws CommandError `notFound` when there is no such object, or it has no pods
 */
export async function findLogSource(
  client: KubeClient,
  word: string,
  namespace: string,
): Promise<readonly Pod[]> {
  const owner = await findOwner(client, word, namespace);
  const name = word.split('/').at(-1) ?? '';
  const { items } = await client.list(PODS, owner.pods(name, namespace));
  if (items.length > 0)
    return [...items].sort((a, b) =>
      (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''),
    );
  throw new CommandError(
    'notFound',
    `${owner.title} ${name} has no pods: "agentplane describe ${owner.words[0]} ${name}" shows its state`,
  );
}

async function findOwner(client: KubeClient, word: string, namespace: string): Promise<PodOwner> {
  const [kind, name] = word.includes('/') ? word.toLowerCase().split('/') : [undefined, word];
  const candidates = OWNERS.filter(({ words }) => kind === undefined || words.includes(kind));
  if (candidates.length === 0 || name === undefined || name === '')
    throw new CommandError(
      'usage',
      `${word} names nothing with logs: use NAME, ${OWNERS.map(({ words }) => `${words[0]}/NAME`).join(', ')}`,
    );
  const found = await Promise.all(candidates.map(({ ref }) => client.find(ref, { name, namespace })));
  const owner = candidates.find((_, at) => found[at] !== undefined);
  if (owner) return owner;
  throw new CommandError(
    'notFound',
    `${candidates.map(({ title }) => title).join(', ')} ${name} does not exist in namespace ${namespace}: "agentplane get adep" and "agentplane get pods" list names`,
  );
}
