import type { Selection } from '#lib/kube';
import { podTable } from '#lib/kube-semantics';
import {
  type AgentRevision,
  CONDITION,
  idOf,
  isConditionTrue,
  keyOf,
  type KubeObject,
  LABEL,
  type Pod,
  PODS,
  RESOURCES,
  revisionState,
  revisionWireStatus,
  type ShownState,
  type Tone,
} from '#lib/resources';
import { deletion, type Hands } from './common-actions.js';
import { AGE, NAME } from './export-cells.js';
import { type Column, defineView, leadsTo } from './view.js';

/**
 * A new revision as an earlier one was. REST also sets the spec back to it; without REST the revision is made alone, and
 * the next change of the deployment starts from the spec as it is.
 */
export async function redeploy(deployment: KubeObject, revisionId: string, hands: Hands): Promise<void> {
  const id = idOf(deployment) ?? '';
  if (hands.rest) {
    await hands.rest.request('POST', `/v2/deployments/${id}/revisions/${revisionId}/redeploy`);
    return;
  }
  const spec = { revisionRequest: { id: hands.newId(), fromRevisionId: revisionId } };
  await hands.client.merge(RESOURCES.AgentDeployment, keyOf(deployment), { spec });
}

/** Pods of a namespace, or of all, that carry these labels. */
export function podsWith(namespace: string | undefined, labels: Readonly<Record<string, string>>): Selection {
  const labelSelector = Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === '' ? {} : { labelSelector }),
  };
}

const EPOCH = new Date(0);
const FINE: ReadonlySet<string> = new Set(['Running', 'Completed', 'Succeeded']);
const BUSY: ReadonlySet<string> = new Set(['Pending', 'ContainerCreating', 'PodInitializing', 'Terminating']);

/** Cells as `kubectl get pods` shows them: name, ready, status, restarts. */
function cells(pod: Pod, now = EPOCH): readonly unknown[] {
  return podTable.cells(pod as never, now);
}

function text(pod: Pod, at: number, now?: Date): string {
  return String(cells(pod, now)[at] ?? '');
}

/** Reason why a container does not run, or ended; what the pod says otherwise. */
function messageOf({ status }: Pod): string {
  const states = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const said = states.flatMap(({ state, lastState }) => [
    state?.waiting?.message,
    state?.terminated?.message,
    lastState?.terminated?.message,
  ]);
  const unmet = status?.conditions?.find(({ status: is }) => is === 'False');
  return said.find((one) => one) ?? status?.message ?? unmet?.message ?? '';
}

function podState(pod: Pod): ShownState {
  const word = text(pod, 2) || 'Pending';
  const [ready, wanted] = text(pod, 1).split('/');
  const isUnready = word === 'Running' && ready !== wanted;
  const isBusy = isUnready || BUSY.has(word) || /^Init:\d/.test(word);
  const tone: Tone = isBusy ? 'busy' : FINE.has(word) ? (word === 'Running' ? 'good' : 'quiet') : 'bad';
  return { word, tone, message: tone === 'good' || tone === 'quiet' ? '' : messageOf(pod) };
}

const POD_COLUMNS: readonly Column<Pod>[] = [
  NAME,
  { heading: 'READY', cell: (pod) => text(pod, 1), align: 'right' },
  {
    heading: 'RESTARTS',
    cell: (pod, { now }) => text(pod, 3, now),
    rank: (pod) => -Number.parseInt(text(pod, 3), 10),
    align: 'right',
    isLive: true,
  },
  AGE,
  { heading: 'COMPONENT', cell: ({ metadata }) => metadata.labels?.[LABEL.component] ?? '' },
  { heading: 'NODE', cell: ({ spec }) => spec.nodeName ?? '', isWide: true },
  { heading: 'IP', cell: ({ status }) => status?.podIP ?? '', isWide: true },
];

function unlessRunning({ status }: Pod): string | undefined {
  return status?.phase === 'Running' ? undefined : 'it does not run';
}

export const PODS_VIEW = defineView<Pod>({
  name: 'pods',
  aliases: ['pod', 'po'],
  about: 'processes of agents, builds, listeners and exports',
  source: { kind: 'kube', ref: PODS },
  state: podState,
  columns: POD_COLUMNS,
  fields: {
    deployment: ({ metadata }) => metadata.labels?.[LABEL.deployment],
    revision: ({ metadata }) => metadata.labels?.[LABEL.revision],
    export: ({ metadata }) => metadata.labels?.[LABEL.export],
  },
  enter: () => ({ kind: 'text', text: 'logs' }),
  podsOf: ({ metadata: { name, namespace } }) => ({
    ...podsWith(namespace, {}),
    fieldSelector: `metadata.name=${name}`,
  }),
  texts: ['logs', 'previous'],
  actions: [
    {
      key: 's',
      word: 'shell',
      about: 'a shell in it; "exit" comes back',
      right: { verb: 'create', ref: PODS, subresource: 'exec' },
      refusal: unlessRunning,
      perform: async ({ metadata: { name, namespace = '' } }, { run }) => {
        await run(['exec', `pod/${name}`, '-n', namespace, '-it', '--', 'sh']);
        return `the shell in ${name} ended`;
      },
    },
    {
      key: 'F',
      word: 'forward',
      about: 'make a port of it reachable on this machine until the dashboard ends',
      asks: { what: 'port of the pod', min: 1, max: 65_535 },
      right: { verb: 'create', ref: PODS, subresource: 'portforward' },
      refusal: unlessRunning,
      perform: async (pod, { forward }, port) =>
        `${await forward(keyOf(pod), port)} leads to port ${port} of ${pod.metadata.name}`,
    },
    deletion(PODS, 'its process ends; its Deployment or Job starts another'),
  ],
  hint: 'none: a deployment that serves has some, and a running export',
});

/** Images by name and the beginning of their digest, which is what people compare. */
function shortImage(image = ''): string {
  return image.replace(/@sha256:([0-9a-f]{12})[0-9a-f]*$/, '@$1');
}

const COLUMNS: readonly Column<AgentRevision>[] = [
  NAME,
  {
    heading: 'SERVES',
    cell: ({ status }) => (isConditionTrue(status?.conditions, CONDITION.active) ? 'yes' : ''),
  },
  {
    heading: 'PODS',
    cell: ({ status }) =>
      status?.replicas === undefined ? '' : `${status.readyReplicas ?? 0}/${status.replicas}`,
    align: 'right',
  },
  AGE,
  { heading: 'IMAGE', cell: ({ status, spec }) => shortImage(status?.image ?? spec.imageUri) },
  { heading: 'DEPLOYMENT', cell: ({ spec }) => spec.deploymentName, isWide: true },
  { heading: 'STATUS', cell: (revision) => revisionWireStatus(revision), isWide: true },
  { heading: 'COMMIT', cell: ({ status }) => status?.repoCommitSha?.slice(0, 12) ?? '', isWide: true },
];

export const REVISIONS = defineView<AgentRevision>({
  name: 'revisions',
  aliases: ['revision', 'rev', 'arev', 'agentrevisions'],
  about: 'what was deployed, newest first',
  source: { kind: 'kube', ref: RESOURCES.AgentRevision },
  state: revisionState,
  columns: COLUMNS,
  order: ({ spec }) => -spec.number,
  fields: {
    deployment: ({ spec }) => spec.deploymentName,
    listener: ({ spec }) => spec.listenerName,
    id: (revision) => idOf(revision),
  },
  enter: leadsTo('pods', LABEL.revision),
  podsOf: ({ metadata: { name, namespace } }) => podsWith(namespace, { [LABEL.revision]: name }),
  texts: ['logs', 'previous'],
  actions: [
    {
      key: 'b',
      word: 'roll back to',
      about: 'make a new revision as this one was: its image, resources and secrets',
      right: { verb: 'patch', ref: RESOURCES.AgentDeployment },
      danger: 'a new revision made from it takes over',
      perform: async (revision, hands) => {
        const { name, namespace = '' } = revision.metadata;
        const key = { namespace, name: revision.spec.deploymentName };
        const deployment = await hands.client.get(RESOURCES.AgentDeployment, key);
        await redeploy(deployment, idOf(revision) ?? '', hands);
        return `${key.name} gets a revision as ${name} was`;
      },
    },
  ],
  hint: 'none yet: a deployment makes its first revision by itself',
});
