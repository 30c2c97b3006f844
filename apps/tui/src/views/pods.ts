import { podTable } from '#lib/kube-semantics';
import { LABEL, type Pod, PODS, type ShownState, type Tone } from '#lib/resources';
import { deletion } from './common-actions.js';
import { podsWith } from './pods-with.js';
import { AGE, NAME } from './standard-columns.js';
import { type Column, defineView } from './view.js';

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

const COLUMNS: readonly Column<Pod>[] = [
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

export const PODS_VIEW = defineView<Pod>({
  name: 'pods',
  aliases: ['pod', 'po'],
  about: 'processes of agents, builds, listeners and exports',
  source: { kind: 'kube', ref: PODS },
  state: podState,
  columns: COLUMNS,
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
  actions: [deletion(PODS, 'its process ends; its Deployment or Job starts another')],
  hint: 'none: a deployment that serves has some, and a running export',
});
