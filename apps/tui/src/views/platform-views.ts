import {
  EVENTS,
  type KubeEvent,
  type Listener,
  RESOURCES,
  resourceState,
  type ShownState,
  type Workspace,
} from '#lib/resources';
import { age } from '../render/fit.js';
import { deletion } from './common-actions.js';
import { AGE, NAME } from './export-cells.js';
import { defineView, leadsTo } from './view.js';

export const LISTENERS = defineView<Listener>({
  name: 'listeners',
  aliases: ['listener', 'lsn'],
  about: 'programs that run agents in a cluster, and their heartbeats',
  source: { kind: 'kube', ref: RESOURCES.Listener },
  state: resourceState,
  columns: [
    NAME,
    { heading: 'COMPUTE', cell: ({ spec }) => spec.computeId },
    { heading: 'VERSION', cell: ({ status }) => status?.version ?? '' },
    {
      heading: 'HEARTBEAT',
      cell: ({ status }, { now }) => age(status?.lastHeartbeatTime, now),
      rank: ({ status }) => status?.lastHeartbeatTime ?? '',
      align: 'right',
      isLive: true,
    },
    AGE,
    { heading: 'NAMESPACES', cell: ({ spec }) => spec.namespaces?.join(' ') ?? '', isWide: true },
  ],
  enter: leadsTo('deployments', 'listener'),
  actions: [deletion(RESOURCES.Listener, 'nothing is deployed through it any more')],
  hint: 'none yet: a workspace has one for its own cluster',
});

export const WORKSPACES = defineView<Workspace>({
  name: 'workspaces',
  aliases: ['workspace', 'ws', 'wsp', 'ns', 'namespaces'],
  about: 'tenants; Enter shows one of them alone',
  source: { kind: 'kube', ref: RESOURCES.Workspace },
  state: resourceState,
  columns: [
    NAME,
    { heading: 'NAMESPACE', cell: ({ status }) => status?.namespace ?? '' },
    { heading: 'PLAN', cell: ({ spec }) => spec.plan },
    AGE,
    { heading: 'TENANT', cell: ({ spec }) => spec.tenantId, isWide: true },
    { heading: 'TITLE', cell: ({ spec }) => spec.displayName ?? '', isWide: true },
  ],
  enter: ({ status }) =>
    status?.namespace === undefined ? undefined : { kind: 'namespace', namespace: status.namespace },
  texts: ['use'],
  actions: [
    {
      key: 'f',
      word: 'favourite',
      about: 'give it one of the first number keys, or take it back; kept for the next time',
      refusal: ({ status }) => (status?.namespace === undefined ? 'it has no namespace yet' : undefined),
      perform: ({ metadata: { name }, status }, { toggleFavourite }) => {
        const number = toggleFavourite(status?.namespace ?? '');
        const text = number === undefined ? `${name} is no favourite` : `${number} shows ${name}`;
        return Promise.resolve(text);
      },
    },
    deletion(RESOURCES.Workspace, 'all its agents, exports and traces go with it'),
  ],
  hint: 'none yet, or this account may not list them',
});

function lastSeen({ lastTimestamp, eventTime, series, metadata }: KubeEvent): string | undefined {
  return series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp;
}

function eventState({ type, reason, message }: KubeEvent): ShownState {
  return { word: reason ?? '', tone: type === 'Warning' ? 'bad' : 'quiet', message: message ?? '' };
}

export const EVENTS_VIEW = defineView<KubeEvent>({
  name: 'events',
  aliases: ['event', 'ev'],
  about: 'what happened, the newest first',
  source: { kind: 'kube', ref: EVENTS },
  state: eventState,
  columns: [
    {
      heading: 'OBJECT',
      cell: ({ involvedObject: { kind = '', name = '' } }) => `${kind.toLowerCase()}/${name}`,
    },
    {
      heading: 'LAST',
      cell: (event, { now }) => age(lastSeen(event), now),
      rank: (event) => -Date.parse(lastSeen(event) ?? ''),
      align: 'right',
      isLive: true,
    },
    {
      heading: 'COUNT',
      cell: ({ count, series }) => String(series?.count ?? count ?? 1),
      rank: ({ count, series }) => -(series?.count ?? count ?? 1),
      align: 'right',
    },
    { heading: 'MESSAGE', cell: ({ message }) => message ?? '' },
    {
      heading: 'FROM',
      cell: ({ source, reportingComponent }) => source?.component ?? reportingComponent ?? '',
      isWide: true,
    },
  ],
  fields: { type: ({ type }) => type, reason: ({ reason }) => reason },
  order: (event) => -Date.parse(lastSeen(event) ?? ''),
  enter: () => ({ kind: 'text', text: 'describe' }),
  actions: [],
  hint: 'none: nothing has happened lately',
});
