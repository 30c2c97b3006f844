import {
  type AgentDeployment,
  ANNOTATION,
  deploymentState,
  idOf,
  keyOf,
  LABEL,
  RESOURCES,
} from '#lib/resources';
import { age } from '../render/fit.js';
import { deletion, specChange } from './common-actions.js';
import { podsWith, redeploy } from './revisions.js';
import { AGE, NAME } from './export-cells.js';
import { type Column, defineView, leadsTo, type Look } from './view.js';

const REF = RESOURCES.AgentDeployment;
const PATCH = { verb: 'patch', ref: REF } as const;

function shortName(revision: string | undefined, { metadata }: AgentDeployment): string {
  if (revision === undefined) return '-';
  return revision.startsWith(`${metadata.name}-`) ? revision.slice(metadata.name.length + 1) : revision;
}

function revisionCell(deployment: AgentDeployment): string {
  const { latestRevisionName, activeRevisionName } = deployment.status ?? {};
  const active = shortName(activeRevisionName, deployment);
  const latest = shortName(latestRevisionName, deployment);
  return active === latest ? active : `${active} → ${latest}`;
}

/** The age of its last wake from sleep, and the time that it took. */
function lastWake({ status }: AgentDeployment, { now }: Look): string {
  const { lastWake: wake } = status ?? {};
  return wake ? `${age(wake.at, now)} ago, ${wake.seconds.toFixed(2)} s` : '';
}

const DEPLOYMENT_COLUMNS: readonly Column<AgentDeployment>[] = [
  NAME,
  { heading: 'REVISION', cell: revisionCell },
  AGE,
  { heading: 'URL', cell: ({ status }) => status?.url ?? '' },
  { heading: 'LAST WAKE', cell: lastWake, isWide: true, isLive: true },
  { heading: 'SOURCE', cell: ({ spec }) => spec.source, isWide: true },
  { heading: 'IMAGE', cell: ({ spec }) => spec.sourceRevisionConfig.imageUri ?? '', isWide: true },
];

/** Suspended deployments get no revision. */
function unlessSuspended(
  revisionId: (deployment: AgentDeployment) => string | undefined,
  missing: string,
): (deployment: AgentDeployment) => string | undefined {
  return (deployment) => {
    if (deployment.spec.suspend) return 'it is suspended: resume it first';
    return revisionId(deployment) === undefined ? missing : undefined;
  };
}

const unlessServing = unlessSuspended(({ status }) => status?.activeRevisionId, 'no revision serves');

/** Pods of the former revision are not what a person means to replace while a change rolls out. */
function unlessSettled(deployment: AgentDeployment): string | undefined {
  const { metadata, status } = deployment;
  const isUnseen = metadata.generation !== status?.observedGeneration;
  const isUnderWay =
    status?.latestRevisionName !== status?.activeRevisionName && deploymentState(deployment).tone === 'busy';
  return isUnseen || isUnderWay
    ? 'another revision is on its way; "agentplane restart --force" does it meanwhile'
    : undefined;
}

export const DEPLOYMENTS = defineView<AgentDeployment>({
  name: 'deployments',
  aliases: ['deployment', 'deploy', 'dp', 'adep', 'agentdeployments'],
  about: 'agents, and which revision of each serves',
  source: { kind: 'kube', ref: REF },
  state: deploymentState,
  columns: DEPLOYMENT_COLUMNS,
  fields: {
    deployment: ({ metadata }) => metadata.name,
    listener: ({ spec }) => spec.listenerRef?.name,
    id: (deployment) => idOf(deployment),
  },
  enter: leadsTo('revisions', 'deployment'),
  podsOf: ({ metadata: { name, namespace } }) => podsWith(namespace, { [LABEL.deployment]: name }),
  texts: ['logs', 'previous'],
  actions: [
    specChange<AgentDeployment>(REF, {
      key: 'z',
      word: 'suspend',
      about: 'end its pods; database, revisions and address stay',
      danger: 'its pods end, and requests are refused',
      refusal: ({ spec }) => (spec.suspend ? 'it is suspended already' : undefined),
      spec: () => ({ suspend: true }),
      done: 'suspended',
    }),
    specChange<AgentDeployment>(REF, {
      key: 'u',
      word: 'resume',
      about: 'start the pods of a suspended deployment',
      danger: 'its pods start, and requests are answered again',
      refusal: ({ spec }) => (spec.suspend ? undefined : 'it is not suspended'),
      spec: () => ({ suspend: false }),
      done: 'resumed',
    }),
    {
      key: 'r',
      word: 'restart',
      about: 'replace its pods by new ones of the revision that serves',
      right: PATCH,
      danger: 'its pods are replaced; the old ones serve until then',
      refusal: (deployment) => unlessServing(deployment) ?? unlessSettled(deployment),
      perform: async ({ metadata, status }, { client, clock }) => {
        const restart = `${status?.activeRevisionName ?? ''}@${clock.now().toISOString()}`;
        await client.merge(REF, keyOf({ metadata }), {
          metadata: { annotations: { [ANNOTATION.restart]: restart } },
        });
        return `${metadata.name} restarts`;
      },
    },
    {
      key: 'o',
      word: 'open',
      about: 'open its URL in a browser; without one, copy it',
      refusal: ({ status }) => (status?.url === undefined ? 'it has no URL yet' : undefined),
      perform: async ({ status }, { openUrl }) => await openUrl(status?.url ?? ''),
    },
    {
      key: 'ctrl-r',
      word: 'redeploy',
      about: 'make a new revision as the newest is',
      danger: 'a new revision as the newest is takes over, and the spec goes back to it',
      right: PATCH,
      refusal: unlessSuspended(({ status }) => status?.latestRevisionId, 'it has no revision yet'),
      perform: async (deployment, hands) => {
        await redeploy(deployment, deployment.status?.latestRevisionId ?? '', hands);
        return `${deployment.metadata.name} gets a new revision`;
      },
    },
    specChange<AgentDeployment>(REF, {
      key: 's',
      word: 'scale',
      about: 'set the least number of its pods',
      asks: { what: 'least number of pods', min: 0, max: 1_000 },
      spec: (_deployment, _newId, minScale) => ({ sourceConfig: { resourceSpec: { minScale } } }),
      done: 'scaled',
    }),
    deletion(REF, 'its revisions, its pods and its database go with it'),
  ],
  hint: 'none yet: "agentplane deploy sample-agent" or "agentplane new my-agent" begins',
});
