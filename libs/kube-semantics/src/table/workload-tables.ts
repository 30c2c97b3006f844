import type { KubeObject } from '../object/kube-object.js';
import { at, listAt, numberAt, textAt } from '../object/reading.js';
import { labelSelectorText } from '../selector/label-selector.js';
import { age, humanDuration } from './human-duration.js';
import { columns, type TableKind } from './table-kind.js';

const TEMPLATE_COLUMNS = ['+Containers', '+Images', '+Selector'];

export const deploymentTable: TableKind = {
  columns: columns('Name', 'Ready', 'Up-to-date', 'Available', 'Age', ...TEMPLATE_COLUMNS),
  cells: (deployment, now) => [
    deployment.metadata.name ?? '',
    `${numberAt(deployment, ['status', 'readyReplicas'])}/${numberAt(deployment, ['spec', 'replicas'], 1)}`,
    numberAt(deployment, ['status', 'updatedReplicas']),
    numberAt(deployment, ['status', 'availableReplicas']),
    age(deployment.metadata.creationTimestamp, now),
    ...containerCells(deployment),
    labelSelectorText(at(deployment, 'spec', 'selector')),
  ],
};

export const replicaSetTable: TableKind = {
  columns: columns('Name', '#Desired', '#Current', '#Ready', 'Age', ...TEMPLATE_COLUMNS),
  cells: (replicaSet, now) => [
    replicaSet.metadata.name ?? '',
    numberAt(replicaSet, ['spec', 'replicas'], 1),
    numberAt(replicaSet, ['status', 'replicas']),
    numberAt(replicaSet, ['status', 'readyReplicas']),
    age(replicaSet.metadata.creationTimestamp, now),
    ...containerCells(replicaSet),
    labelSelectorText(at(replicaSet, 'spec', 'selector')) || '<none>',
  ],
};

export const jobTable: TableKind = {
  columns: columns('Name', 'Status', 'Completions', 'Duration', 'Age', ...TEMPLATE_COLUMNS),
  cells: (job, now) => [
    job.metadata.name ?? '',
    jobStatus(job),
    completions(job),
    jobDuration(job, now),
    age(job.metadata.creationTimestamp, now),
    ...containerCells(job),
    labelSelectorText(at(job, 'spec', 'selector')) || '<none>',
  ],
};

function containerCells(workload: KubeObject): readonly [string, string] {
  const containers = listAt(workload, 'spec', 'template', 'spec', 'containers');
  const names = containers.map((container) => textAt(container, ['name'])).join(',');
  return [names, containers.map((container) => textAt(container, ['image'])).join(',')];
}

const ENDS: Readonly<Record<string, string>> = { Complete: 'Complete', Failed: 'Failed' };
const STATES: Readonly<Record<string, string>> = {
  Suspended: 'Suspended',
  FailureTarget: 'FailureTarget',
  SuccessCriteriaMet: 'SuccessCriteriaMet',
};

function jobStatus(job: KubeObject): string {
  const trueTypes = listAt(job, 'status', 'conditions')
    .filter((condition) => at(condition, 'status') === 'True')
    .map((condition) => textAt(condition, ['type']));
  const first = (words: Readonly<Record<string, string>>) =>
    Object.keys(words).find((word) => trueTypes.includes(word));
  const end = first(ENDS);
  if (end) return end;
  return job.metadata.deletionTimestamp === undefined ? (first(STATES) ?? 'Running') : 'Terminating';
}

function completions(job: KubeObject): string {
  const succeeded = numberAt(job, ['status', 'succeeded']);
  if (at(job, 'spec', 'completions') !== undefined)
    return `${succeeded}/${numberAt(job, ['spec', 'completions'])}`;
  const parallelism = numberAt(job, ['spec', 'parallelism']);
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(job: KubeObject, now: Date): string {
  const started = textAt(job, ['status', 'startTime']);
  if (started === '') return '';
  const completed = textAt(job, ['status', 'completionTime']);
  return humanDuration((completed === '' ? now.getTime() : Date.parse(completed)) - Date.parse(started));
}
