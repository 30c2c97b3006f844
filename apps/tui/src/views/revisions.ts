import {
  type AgentRevision,
  CONDITION,
  idOf,
  isConditionTrue,
  LABEL,
  RESOURCES,
  revisionState,
  revisionWireStatus,
} from '#lib/resources';
import { redeploy } from './redeploy.js';
import { podsWith } from './pods-with.js';
import { AGE, NAME } from './standard-columns.js';
import { type Column, defineView } from './view.js';

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
  enter: ({ metadata: { name, namespace } }) => ({
    kind: 'view',
    view: 'pods',
    scope: { title: name, field: LABEL.revision, value: name, namespace },
  }),
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
