import type { KubeObject } from '../object/kube-object.js';
import { at, listAt, numberAt, recordAt, textAt, textsAt } from '../object/reading.js';
import { age, type Cell, columns, type TableKind } from './table-kind.js';

/** A table of name, some cells of its own, and age. */
export function simple(names: readonly string[], cells: (object: KubeObject) => readonly Cell[]): TableKind {
  return {
    columns: columns('Name', ...names, 'Age'),
    cells: (object, now) => [
      object.metadata.name ?? '',
      ...cells(object),
      age(object.metadata.creationTimestamp, now),
    ],
  };
}

const size = (object: KubeObject, field: string): number => Object.keys(recordAt(object, field)).length;

export const namespaceTable = simple(['Status'], (namespace) => [textAt(namespace, ['status', 'phase'])]);
export const secretTable = simple(['Type', 'Data'], (secret) => [
  textAt(secret, ['type']),
  size(secret, 'data'),
]);
export const configMapTable = simple(['Data'], (map) => [size(map, 'data') + size(map, 'binaryData')]);
export const leaseTable = simple(['Holder'], (lease) => [textAt(lease, ['spec', 'holderIdentity'])]);
export const serviceAccountTable = simple(['Secrets'], (account) => [listAt(account, 'secrets').length]);
export const endpointsTable = simple(['Endpoints'], (endpoints) => [endpointsText(endpoints)]);
export const endpointSliceTable = simple(['AddressType', 'Ports', 'Endpoints'], (slice) => [
  textAt(slice, ['addressType']),
  someOf(listAt(slice, 'ports').map((port) => textAt(port, ['port']) || textAt(port, ['name']) || '*')) ||
    '<unset>',
  someOf(listAt(slice, 'endpoints').flatMap((endpoint) => textsAt(endpoint, 'addresses'))) || '<unset>',
]);

export const serviceTable: TableKind = {
  columns: columns('Name', 'Type', 'Cluster-IP', 'External-IP', 'Port(s)', 'Age', '+Selector'),
  cells: (service, now) => [
    service.metadata.name ?? '',
    textAt(service, ['spec', 'type']),
    textAt(service, ['spec', 'clusterIPs', 0]) || '<none>',
    externalIp(service),
    listAt(service, 'spec', 'ports').map(portText).join(',') || '<none>',
    age(service.metadata.creationTimestamp, now),
    labelsText(recordAt(service, 'spec', 'selector')),
  ],
};

export const nodeTable: TableKind = {
  columns: columns(
    'Name',
    'Status',
    'Roles',
    'Age',
    'Version',
    '+Internal-IP',
    '+External-IP',
    '+OS-Image',
    '+Kernel-Version',
    '+Container-Runtime',
  ),
  cells: (node, now) => [
    node.metadata.name ?? '',
    nodeStatus(node),
    nodeRoles(node),
    age(node.metadata.creationTimestamp, now),
    textAt(node, ['status', 'nodeInfo', 'kubeletVersion']),
    nodeAddress(node, 'InternalIP'),
    nodeAddress(node, 'ExternalIP'),
    textAt(node, ['status', 'nodeInfo', 'osImage']) || '<unknown>',
    textAt(node, ['status', 'nodeInfo', 'kernelVersion']) || '<unknown>',
    textAt(node, ['status', 'nodeInfo', 'containerRuntimeVersion']) || '<unknown>',
  ],
};

export const eventTable: TableKind = {
  columns: columns(
    'Last Seen',
    'Type',
    'Reason',
    'Object',
    '+Subobject',
    '+Source',
    'Message',
    '+First Seen',
    '+Count',
    '+Name',
  ),
  cells(event, now) {
    const first = age(event.firstTimestamp ?? event.eventTime, now);
    const series = at(event, 'series');
    const last = event.lastTimestamp ? age(event.lastTimestamp, now) : first;
    const kind = textAt(event, ['involvedObject', 'kind']).toLowerCase();
    const name = textAt(event, ['involvedObject', 'name']);
    return [
      series ? age(at(series, 'lastObservedTime'), now) : last,
      textAt(event, ['type']),
      textAt(event, ['reason']),
      name ? `${kind}/${name}` : kind,
      textAt(event, ['involvedObject', 'fieldPath']),
      eventSource(event),
      textAt(event, ['message']).trim(),
      first,
      series ? numberAt(series, ['count']) : numberAt(event, ['count']) || 1,
      event.metadata.name ?? '',
    ];
  },
};

/** Role bindings of a namespace and of the cluster. */
export const bindingTable: TableKind = {
  columns: columns('Name', 'Role', 'Age', '+Users', '+Groups', '+ServiceAccounts'),
  cells: (binding, now) => [
    binding.metadata.name ?? '',
    `${textAt(binding, ['roleRef', 'kind'])}/${textAt(binding, ['roleRef', 'name'])}`,
    age(binding.metadata.creationTimestamp, now),
    subjects(binding, 'User').join(', '),
    subjects(binding, 'Group').join(', '),
    subjects(binding, 'ServiceAccount').join(', '),
  ],
};

/** Kinds without a table of their own: name and time of creation. */
export const plainTable: TableKind = {
  columns: [
    ...columns('Name'),
    { name: 'Created At', type: 'date', format: '', description: '', priority: 0 },
  ],
  cells: (object) => [object.metadata.name ?? '', object.metadata.creationTimestamp ?? ''],
};

function externalIp(service: KubeObject): string {
  const external = textsAt(service, 'spec', 'externalIPs');
  switch (textAt(service, ['spec', 'type'])) {
    case 'ExternalName':
      return textAt(service, ['spec', 'externalName']);
    case 'LoadBalancer':
      return external.join(',') || '<pending>';
    default:
      return external.join(',') || '<none>';
  }
}

function portText(port: unknown): string {
  const nodePort = numberAt(port, ['nodePort']);
  return `${numberAt(port, ['port'])}${nodePort > 0 ? `:${nodePort}` : ''}/${textAt(port, ['protocol'])}`;
}

function labelsText(labels: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${String(value)}`);
  return pairs.sort().join(',') || '<none>';
}

function nodeStatus(node: KubeObject): string {
  const ready = listAt(node, 'status', 'conditions').find((condition) => at(condition, 'type') === 'Ready');
  const state = ready ? (at(ready, 'status') === 'True' ? 'Ready' : 'NotReady') : 'Unknown';
  return at(node, 'spec', 'unschedulable') === true ? `${state},SchedulingDisabled` : state;
}

const ROLE_PREFIX = 'node-role.kubernetes.io/';

function nodeRoles(node: KubeObject): string {
  const roles = Object.entries(node.metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(ROLE_PREFIX) && key.length > ROLE_PREFIX.length)
      return [key.slice(ROLE_PREFIX.length)];
    return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
  return [...new Set(roles)].sort().join(',') || '<none>';
}

function nodeAddress(node: KubeObject, type: string): string {
  const found = listAt(node, 'status', 'addresses').find((address) => at(address, 'type') === type);
  return textAt(found, ['address']) || '<none>';
}

function eventSource(event: KubeObject): string {
  const component = textAt(event, ['source', 'component']) || textAt(event, ['reportingComponent']);
  const instance = textAt(event, ['source', 'host']) || textAt(event, ['reportingInstance']);
  return instance ? `${component}, ${instance}` : component;
}

function subjects(binding: KubeObject, kind: string): readonly string[] {
  return listAt(binding, 'subjects')
    .filter((subject) => at(subject, 'kind') === kind)
    .map((subject) => {
      const name = textAt(subject, ['name']);
      return kind === 'ServiceAccount' ? `${textAt(subject, ['namespace'])}/${name}` : name;
    });
}

const SHOWN = 3;

function someOf(texts: readonly string[], total = texts.length): string {
  const shown = texts.slice(0, SHOWN).join(',');
  return total > SHOWN ? `${shown} + ${total - SHOWN} more...` : shown;
}

/** Every address has every port of its subset; only those that are shown become texts, the others are counted. */
function endpointsText(endpoints: KubeObject): string {
  const shown: string[] = [];
  let total = 0;
  for (const subset of listAt(endpoints, 'subsets')) {
    const addresses = listAt(subset, 'addresses');
    const ports = listAt(subset, 'ports');
    total += addresses.length * Math.max(1, ports.length);
    const first = addresses.slice(0, SHOWN).map((address) => textAt(address, ['ip']));
    if (ports.length === 0) shown.push(...first);
    for (const port of ports.slice(0, SHOWN))
      shown.push(...first.map((address) => `${address}:${textAt(port, ['port'])}`));
  }
  return someOf(shown, total) || '<none>';
}
