import type { ShownDeployment, ShownRevision, Snapshot } from '../feed/snapshot.js';
import { age } from '../render/quantity.js';
import { type Row, type RowOptions, shownName, treeOf } from './row.js';
import { findShown, type State, stateOf } from './tone.js';

/** Headings of the cells. */
export const DEPLOYMENT_COLUMNS = ['REVISION', 'AGE', 'ADDRESS'] as const;

function revisionState(revision: ShownRevision): State {
  const { conditions } = revision.status ?? {};
  const active = findShown(conditions, 'Active')?.status === 'True' || revision.status?.serving === true;
  if (active) return { word: 'Serving', tone: 'good', message: '' };
  if (findShown(conditions, 'Superseded')?.status === 'True')
    return { word: 'Superseded', tone: 'quiet', message: '' };
  const state = stateOf(conditions, revision.metadata.deletionTimestamp !== undefined);
  return state.word === 'Ready' ? { ...state, word: 'Standby', tone: 'quiet' } : state;
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

/** Deployments by name, each followed by its revisions, newest first. */
export function deploymentRows(snapshot: Snapshot, now: Date, options: RowOptions): Row[] {
  const byName = [...snapshot.deployments].sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
  return byName.flatMap((deployment) => {
    const { name, namespace, creationTimestamp, deletionTimestamp } = deployment.metadata;
    const key = `deployment ${namespace}/${name}`;
    const parent = {
      key,
      name: shownName(deployment.metadata, options),
      state: deployment.spec.suspend
        ? ({ word: 'Suspended', tone: 'quiet', message: '' } as const)
        : stateOf(deployment.status?.conditions, deletionTimestamp !== undefined),
      cells: [revisionCell(deployment), age(creationTimestamp, now), deployment.status?.url ?? ''],
    };
    const children = snapshot.revisions
      .filter((one) => one.spec.deploymentName === name && one.metadata.namespace === namespace)
      .sort((a, b) => b.metadata.name.localeCompare(a.metadata.name))
      .map((revision) => ({
        key: `revision ${namespace}/${revision.metadata.name}`,
        name: shortName(revision.metadata.name, name),
        state: revisionState(revision),
        cells: [
          '',
          age(revision.metadata.creationTimestamp, now),
          shortImage(revision.status?.image ?? revision.spec.imageUri ?? ''),
        ],
      }));
    return treeOf(parent, children, options.isOpen(key, true));
  });
}
