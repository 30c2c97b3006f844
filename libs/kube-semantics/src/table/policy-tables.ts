import { at, numberAt, recordAt, textAt } from '../object/reading.js';
import { labelSelectorText } from '../selector/label-selector.js';
import { simple } from './core-tables.js';
import { columns, type TableKind } from './table-kind.js';

export const disruptionBudgetTable = simple(
  ['Min Available', 'Max Unavailable', '#Allowed Disruptions'],
  (budget) => [
    String(at(budget, 'spec', 'minAvailable') ?? 'N/A'),
    String(at(budget, 'spec', 'maxUnavailable') ?? 'N/A'),
    numberAt(budget, ['status', 'disruptionsAllowed']),
  ],
);

export const networkPolicyTable = simple(['Pod-Selector'], (policy) => [
  labelSelectorText(at(policy, 'spec', 'podSelector')) || '<none>',
]);

export const storageClassTable = simple(
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
export const priorityClassTable: TableKind = {
  columns: [...priorities.columns, ...columns('+PreemptionPolicy')],
  cells: (object, now) => [...priorities.cells(object, now), textAt(object, ['preemptionPolicy'])],
};

export const resourceQuotaTable = simple(['Request', 'Limit'], (quota) => {
  const hard = Object.entries(recordAt(quota, 'status', 'hard')).toSorted();
  const shown = (isLimit: boolean): string =>
    hard
      .filter(([name]) => name.startsWith('limits.') === isLimit)
      .map(([name, most]) => `${name}: ${textAt(quota, ['status', 'used', name])}/${String(most)}`)
      .join(', ');
  return [shown(false), shown(true)];
});
