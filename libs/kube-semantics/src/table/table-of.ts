import { isJsonObject } from '#lib/json';
import type { KubeObject } from '../object/kube-object.js';
import { at, listAt, numberAt, own, recordAt, textAt } from '../object/reading.js';
import { labelSelectorText } from '../selector/label-selector.js';
import { inVersion, type PrinterColumn, type ServedType } from '../served-type/served-type.js';
import { qualified } from '../status/errors.js';
import {
  bindingTable,
  configMapTable,
  endpointSliceTable,
  endpointsTable,
  eventTable,
  leaseTable,
  namespaceTable,
  nodeTable,
  plainTable,
  secretTable,
  serviceAccountTable,
  serviceTable,
  simple,
} from './core-tables.js';
import { podTable } from './pod-table.js';
import { age, type Cell, columns, humanDuration, type TableKind } from './table-kind.js';

type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  | {
      readonly kind: 'filter';
      readonly path: readonly Step[];
      readonly isEqual: boolean;
      readonly value: unknown;
    };

/** The subset of JSONPath that printer columns use. */
export interface JsonPath {
  /** Every value the path leads to, in order. */
  find(value: unknown): readonly unknown[];
}

const TOKEN =
  /\.?\['((?:[^'\\]|\\.)*)'\]|\[\?\(@((?:\.[\w-]+)+)\s*(==|!=)\s*("[^"]*"|'[^']*'|[\w.-]+)\)\]|\[(-?\d+)\]|\[\*\]|\.\*|\.((?:[^.[\\\]]|\\.)+)/gy;

/** Parses `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`; undefined when it is something else. */
export function parseJsonPath(text: string): JsonPath | undefined {
  const steps = parseSteps(text);
  return steps && { find: (value) => walk([value], steps) };
}

function parseSteps(text: string): readonly Step[] | undefined {
  const steps: Step[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (!match) return undefined;
    steps.push(stepOf(match));
  }
  return steps;
}

function stepOf([token, quoted, filterPath, operator, value, index, name]: RegExpExecArray): Step {
  if (quoted !== undefined) return { kind: 'field', name: unescape(quoted) };
  if (filterPath !== undefined) {
    const path = filterPath
      .slice(1)
      .split('.')
      .map((part): Step => ({ kind: 'field', name: part }));
    return { kind: 'filter', path, isEqual: operator === '==', value: literal(value ?? '') };
  }
  if (index !== undefined) return { kind: 'index', index: Number(index) };
  if (name !== undefined && token !== '.*') return { kind: 'field', name: unescape(name) };
  return { kind: 'all' };
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/g, '$1');
}

function literal(text: string): unknown {
  if (/^["']/.test(text)) return text.slice(1, -1);
  if (text === 'true' || text === 'false') return text === 'true';
  return Number.isNaN(Number(text)) ? text : Number(text);
}

function walk(values: readonly unknown[], steps: readonly Step[]): readonly unknown[] {
  return steps.reduce<readonly unknown[]>((here, step) => here.flatMap((value) => take(value, step)), values);
}

function take(value: unknown, step: Step): readonly unknown[] {
  switch (step.kind) {
    case 'field':
      return isJsonObject(value) && own(value, step.name) !== undefined ? [own(value, step.name)] : [];
    case 'index':
      return Array.isArray(value) && value.at(step.index) !== undefined
        ? [value.at(step.index) as unknown]
        : [];
    case 'all':
      if (Array.isArray(value)) return value;
      return isJsonObject(value) ? Object.values(value) : [];
    case 'filter':
      if (!Array.isArray(value)) return [];
      return value.filter((item) => (walk([item], step.path)[0] === step.value) === step.isEqual);
  }
}

/** The table of a custom resource: its name and the columns of its definition. */
function customTable(printerColumns: readonly PrinterColumn[]): TableKind {
  const parsed = printerColumns.map((column) => ({
    type: column.type,
    path: parseJsonPath(column.jsonPath),
  }));
  return {
    columns: [
      ...columns('Name'),
      ...printerColumns.map(({ name, type, format, description, priority, jsonPath }) => ({
        name,
        type,
        format: format ?? '',
        description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
        priority: priority ?? 0,
      })),
    ],
    cells: (object, now) => [
      object.metadata.name ?? '',
      ...parsed.map(({ type, path }) => cell(object, type, path, now)),
    ],
  };
}

function cell(object: unknown, type: string, path: JsonPath | undefined, now: Date): Cell {
  const value = path?.find(object)[0];
  if (value === undefined) return null;
  switch (type) {
    case 'string':
      return printed(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : typeof value === 'bigint' ? value : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? age(value, now) : null;
    default:
      return null;
  }
}

/** Value as Go's JSONPath prints it: JSON for anything that is no scalar. */
function printed(value: unknown): string {
  if (value === null) return '<nil>';
  return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
}

const disruptionBudgetTable = simple(
  ['Min Available', 'Max Unavailable', '#Allowed Disruptions'],
  (budget) => [
    String(at(budget, 'spec', 'minAvailable') ?? 'N/A'),
    String(at(budget, 'spec', 'maxUnavailable') ?? 'N/A'),
    numberAt(budget, ['status', 'disruptionsAllowed']),
  ],
);

const networkPolicyTable = simple(['Pod-Selector'], (policy) => [
  labelSelectorText(at(policy, 'spec', 'podSelector')) || '<none>',
]);

const storageClassTable = simple(
  ['Provisioner', 'ReclaimPolicy', 'VolumeBindingMode', 'AllowVolumeExpansion'],
  (storageClass) => [
    textAt(storageClass, ['provisioner']),
    textAt(storageClass, ['reclaimPolicy']),
    textAt(storageClass, ['volumeBindingMode']),
    at(storageClass, 'allowVolumeExpansion') === true,
  ],
);

const priorities = simple(['#Value', 'Global-Default'], (priorityClass) => [
  numberAt(priorityClass, ['value']),
  at(priorityClass, 'globalDefault') === true,
]);
const priorityClassTable: TableKind = {
  columns: [...priorities.columns, ...columns('+PreemptionPolicy')],
  cells: (object, now) => [...priorities.cells(object, now), textAt(object, ['preemptionPolicy'])],
};

const resourceQuotaTable = simple(['Request', 'Limit'], (quota) => {
  const hard = Object.entries(recordAt(quota, 'status', 'hard')).toSorted();
  const shown = (isLimit: boolean): string =>
    hard
      .filter(([name]) => name.startsWith('limits.') === isLimit)
      .map(([name, most]) => `${name}: ${textAt(quota, ['status', 'used', name])}/${String(most)}`)
      .join(', ');
  return [shown(false), shown(true)];
});

const TEMPLATE_COLUMNS = ['+Containers', '+Images', '+Selector'];

const deploymentTable: TableKind = {
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

const replicaSetTable: TableKind = {
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

const jobTable: TableKind = {
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

const BUILTIN: Readonly<Record<string, TableKind>> = {
  configmaps: configMapTable,
  endpoints: endpointsTable,
  events: eventTable,
  namespaces: namespaceTable,
  nodes: nodeTable,
  pods: podTable,
  secrets: secretTable,
  serviceaccounts: serviceAccountTable,
  services: serviceTable,
  'deployments.apps': deploymentTable,
  'replicasets.apps': replicaSetTable,
  'jobs.batch': jobTable,
  'events.events.k8s.io': {
    columns: eventTable.columns,
    cells: (event, now) => eventTable.cells(inVersion(event, 'v1'), now),
  },
  resourcequotas: resourceQuotaTable,
  'poddisruptionbudgets.policy': disruptionBudgetTable,
  'networkpolicies.networking.k8s.io': networkPolicyTable,
  'priorityclasses.scheduling.k8s.io': priorityClassTable,
  'storageclasses.storage.k8s.io': storageClassTable,
  'leases.coordination.k8s.io': leaseTable,
  'endpointslices.discovery.k8s.io': endpointSliceTable,
  'rolebindings.rbac.authorization.k8s.io': bindingTable,
  'clusterrolebindings.rbac.authorization.k8s.io': bindingTable,
};

const customTables = new WeakMap<ServedType['version'], TableKind>();

/** Table with which `kubectl get` shows a kind. */
export function tableOf({ type, version }: ServedType): TableKind {
  if (!type.isCustom) return BUILTIN[qualified(type)] ?? plainTable;
  let table = customTables.get(version);
  if (!table) customTables.set(version, (table = customTable(version.columns)));
  return table;
}
