import { apiVersionOf, type ResourceType, type ServedVersion } from '#lib/kube-semantics';
import { ABSENT_VERBS, STORED_VERBS, type TypeRegistry } from '../registry/type-registry.js';
import { type VirtualResource, virtualResources } from './virtual-resources.js';

/** Discovery of one resource, before it is written in one of its two shapes. */
interface DiscoveredResource {
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly VirtualResource[];
}

interface DiscoveredVersion {
  readonly version: string;
  readonly resources: readonly DiscoveredResource[];
}

interface DiscoveredGroup {
  readonly group: string;
  readonly versions: readonly DiscoveredVersion[];
}

/** Order of the groups, as a cluster has it: these first, custom ones after. */
const GROUP_ORDER = [
  '',
  'apps',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'rbac.authorization.k8s.io',
  'apiextensions.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'policy',
];

/** Discovery of the served API, which clients read before anything else. */
export class Discovery {
  #generation = -1;
  #groups: readonly DiscoveredGroup[] = [];

  constructor(private readonly types: TypeRegistry) {}

  /** Groups with their versions; the core group is ''. */
  groups(): readonly DiscoveredGroup[] {
    if (this.#generation !== this.types.generation) {
      this.#groups = discoverGroups(this.types.list());
      this.#generation = this.types.generation;
    }
    return this.#groups;
  }

  /** `APIGroupDiscoveryList` of `/api` (the core group) or `/apis` (all others). */
  aggregated(isCore: boolean, version: string): object {
    const groups = this.groups().filter(({ group }) => (group === '') === isCore);
    return {
      kind: 'APIGroupDiscoveryList',
      apiVersion: `apidiscovery.k8s.io/${version}`,
      metadata: {},
      items: groups.map(({ group, versions }) => ({
        metadata: { ...(group ? { name: group } : {}), creationTimestamp: null },
        versions: versions.map((each) => ({
          version: each.version,
          resources: each.resources.map((resource) => aggregatedResource(group, each.version, resource)),
          freshness: 'Current',
        })),
      })),
    };
  }

  /** `APIVersions` of `/api`. */
  coreVersions(serverAddress: string): object {
    return {
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
    };
  }

  /** `APIGroupList` of `/apis`. */
  groupList(): object {
    const groups = this.groups().filter(({ group }) => group !== '');
    return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupShape) };
  }

  /** `APIGroup` of `/apis/GROUP`; undefined when it is not served. */
  group(name: string): object | undefined {
    const found = this.groups().find(({ group }) => group === name);
    return found && name !== '' ? { kind: 'APIGroup', apiVersion: 'v1', ...groupShape(found) } : undefined;
  }

  /** `APIResourceList` of a group's version; undefined when it is not served. */
  resources(group: string, version: string): object | undefined {
    const found = this.groups()
      .find((each) => each.group === group)
      ?.versions.find((each) => each.version === version);
    return (
      found && {
        kind: 'APIResourceList',
        apiVersion: 'v1',
        groupVersion: apiVersionOf(group, version),
        resources: found.resources.flatMap(legacyResources),
      }
    );
  }
}

function discoverGroups(types: readonly ResourceType[]): readonly DiscoveredGroup[] {
  const names = new Set([...types.map((type) => type.group), ...virtualResources.map((each) => each.group)]);
  const rank = (group: string) =>
    GROUP_ORDER.includes(group) ? GROUP_ORDER.indexOf(group) : GROUP_ORDER.length;
  return [...names]
    .sort((left, right) => rank(left) - rank(right) || (left < right ? -1 : 1))
    .map((group) => ({
      group,
      versions: discoverVersions(
        group,
        types.filter((type) => type.group === group),
      ),
    }));
}

function discoverVersions(group: string, types: readonly ResourceType[]): readonly DiscoveredVersion[] {
  const virtual = virtualResources.filter((each) => each.group === group);
  const names = new Set([
    ...types.flatMap((type) => type.versions.map(({ name }) => name)),
    ...virtual.map((each) => each.version),
  ]);
  return [...names].map((version) => {
    const stored = types.flatMap((type) => {
      const served = type.versions.find(({ name }) => name === version);
      return served ? [discoverStored(type, served)] : [];
    });
    const answered = virtual
      .filter((each) => each.version === version && !each.resource.includes('/'))
      .map(discoverVirtual);
    return {
      version,
      resources: [...stored, ...answered].sort((left, right) => (left.resource < right.resource ? -1 : 1)),
    };
  });
}

function discoverStored(type: ResourceType, served: ServedVersion): DiscoveredResource {
  const { group, resource, kind, namespaced } = type;
  const base = { group, version: served.name, kind, namespaced };
  const subresources: readonly VirtualResource[] = [
    ...(served.scale
      ? [
          {
            ...base,
            resource: `${resource}/scale`,
            kind: 'Scale',
            kindGroup: 'autoscaling',
            kindVersion: 'v1',
            verbs: ['get', 'patch', 'update'],
          },
        ]
      : []),
    ...(served.hasStatus
      ? [{ ...base, resource: `${resource}/status`, verbs: ['get', 'patch', 'update'] }]
      : []),
    ...virtualResources.filter(
      (each) =>
        each.group === group && each.version === served.name && each.resource.startsWith(`${resource}/`),
    ),
  ];
  return {
    resource,
    singular: type.singular,
    kind,
    namespaced,
    verbs: verbsOf(type),
    shortNames: type.shortNames,
    categories: type.categories,
    subresources: [...subresources].sort((left, right) => (left.resource < right.resource ? -1 : 1)),
  };
}

function verbsOf({ group, resource, isAbsent }: ResourceType): readonly string[] {
  if (isAbsent) return ABSENT_VERBS;
  // a cluster is not emptied in one call
  const isWhole = resource === 'namespaces' && group === '';
  return isWhole ? STORED_VERBS.filter((verb) => verb !== 'deletecollection') : STORED_VERBS;
}

function discoverVirtual({ resource, kind, namespaced, verbs }: VirtualResource): DiscoveredResource {
  return {
    resource,
    singular: kind.toLowerCase(),
    kind,
    namespaced,
    verbs,
    shortNames: [],
    categories: [],
    subresources: [],
  };
}

function aggregatedResource(group: string, version: string, found: DiscoveredResource): object {
  return {
    resource: found.resource,
    responseKind: { group, version, kind: found.kind },
    scope: found.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: found.singular,
    verbs: found.verbs,
    ...(found.shortNames.length > 0 ? { shortNames: found.shortNames } : {}),
    ...(found.categories.length > 0 ? { categories: found.categories } : {}),
    ...(found.subresources.length > 0
      ? {
          subresources: found.subresources.map((each) => ({
            subresource: each.resource.split('/')[1],
            responseKind: {
              group: each.kindGroup ?? group,
              version: each.kindVersion ?? version,
              kind: each.kind,
            },
            verbs: each.verbs,
          })),
        }
      : {}),
  };
}

function legacyResources(found: DiscoveredResource): readonly object[] {
  const { resource, singular, namespaced, kind, verbs, shortNames, categories, subresources } = found;
  return [
    {
      name: resource,
      singularName: singular,
      namespaced,
      kind,
      verbs,
      ...(shortNames.length > 0 ? { shortNames } : {}),
      ...(categories.length > 0 ? { categories } : {}),
    },
    ...subresources.map((each) => ({
      name: each.resource,
      singularName: '',
      namespaced,
      ...(each.kindGroup !== undefined ? { group: each.kindGroup } : {}),
      ...(each.kindVersion !== undefined ? { version: each.kindVersion } : {}),
      kind: each.kind,
      verbs: each.verbs,
    })),
  ];
}

function groupShape({ group, versions }: DiscoveredGroup): object {
  const shapes = versions.map(({ version }) => ({ groupVersion: apiVersionOf(group, version), version }));
  return { name: group, versions: shapes, preferredVersion: shapes[0] };
}
