import { inVersion } from '../served-type/in-version.js';
import type { ServedType } from '../served-type/served-type.js';
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
} from './core-tables.js';
import {
  disruptionBudgetTable,
  networkPolicyTable,
  priorityClassTable,
  resourceQuotaTable,
  storageClassTable,
} from './policy-tables.js';
import { customTable } from './custom-table.js';
import { podTable } from './pod-table.js';
import type { TableKind } from './table-kind.js';
import { deploymentTable, jobTable, replicaSetTable } from './workload-tables.js';

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
