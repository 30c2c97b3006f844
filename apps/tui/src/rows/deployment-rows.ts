import { CONDITION, findCondition, isConditionTrue, REASON } from '#lib/resources';
import type { ShownDeployment, ShownRevision, Snapshot } from '../feed/snapshot.js';
import { age } from '../render/quantity.js';
import { type Row, type RowOptions, shownName, treeOf } from './row.js';
import { type State, stateOf } from './tone.js';
import type { TreeColumn } from './tree-column.js';

function revisionState(revision: ShownRevision): State {
  const { conditions } = revision.status ?? {};
  const active = isConditionTrue(conditions, CONDITION.active) || revision.status?.serving === true;
  const isUnready = findCondition(conditions, CONDITION.ready)?.status === 'False';
  if (active && !isUnready) return { word: REASON.serving, tone: 'good', message: '' };
  if (isConditionTrue(conditions, CONDITION.superseded))
    return { word: CONDITION.superseded, tone: 'quiet', message: '' };
  const state = stateOf(conditions, revision.metadata.deletionTimestamp !== undefined);
  return state.word === CONDITION.ready ? { ...state, word: 'Standby', tone: 'quiet' } : state;
}

function shortName(revision: string | undefined, deployment: string): string {
  if (revision === undefined) return '-';
  return revision.startsWith(`${deployment}-`) ? revision.slice(deployment.length + 1) : revision;
}

function revisionCell(deployment: ShownDeployment): string {
  const { latestRevisionName, activeRevisionName } = deployment.status ?? {};
  const active = shortName(activeRevisionName, deployment.metadata.name);
  const latest = shortName(latestRevisionName, deployment.metadata.name);
  return active === latest ? active : `${active} → ${latest}`;
}

/** Images by name and the beginning of their digest, which is what people compare. */
function shortImage(image = ''): string {
  return image.replace(/@sha256:([0-9a-f]{12})[0-9a-f]*$/, '@$1');
}

interface DeploymentItem {
  readonly deployment: ShownDeployment;
  readonly now: Date;
}

interface RevisionItem {
  readonly revision: ShownRevision;
  readonly now: Date;
}

/** What stands behind name and state. */
export const DEPLOYMENT_COLUMNS: readonly TreeColumn<DeploymentItem, RevisionItem>[] = [
  { heading: 'REVISION', parent: ({ deployment }) => revisionCell(deployment), child: () => '' },
  {
    heading: 'AGE',
    parent: ({ deployment, now }) => age(deployment.metadata.creationTimestamp, now),
    child: ({ revision, now }) => age(revision.metadata.creationTimestamp, now),
  },
  {
    heading: 'ADDRESS',
    parent: ({ deployment }) => deployment.status?.url ?? '',
    child: ({ revision }) => shortImage(revision.status?.image ?? revision.spec.imageUri ?? ''),
  },
];

/** Deployments by name, each followed by its revisions, newest first. */
export function deploymentRows(snapshot: Snapshot, now: Date, options: RowOptions): Row[] {
  const byName = [...snapshot.deployments].sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
  return byName.flatMap((deployment) => {
    const { name, namespace, deletionTimestamp } = deployment.metadata;
    const key = `deployment ${namespace}/${name}`;
    const parent = {
      key,
      name: shownName(deployment.metadata, options),
      state: deployment.spec.suspend
        ? ({ word: REASON.suspended, tone: 'quiet', message: '' } as const)
        : stateOf(deployment.status?.conditions, deletionTimestamp !== undefined),
      cells: DEPLOYMENT_COLUMNS.map((column) => column.parent({ deployment, now })),
    };
    const children = snapshot.revisions
      .filter((one) => one.spec.deploymentName === name && one.metadata.namespace === namespace)
      .sort((a, b) => b.metadata.name.localeCompare(a.metadata.name))
      .map((revision) => ({
        key: `revision ${namespace}/${revision.metadata.name}`,
        name: shortName(revision.metadata.name, name),
        state: revisionState(revision),
        cells: DEPLOYMENT_COLUMNS.map((column) => column.child({ revision, now })),
      }));
    return treeOf(parent, children, options.isOpen(key, true));
  });
}
