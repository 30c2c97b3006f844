import type { ResourceRef } from '#lib/resources';
import type { KubeClient } from '../client/kube-client.js';

/** A kind that the API server serves, in its group's preferred version. */
export interface DiscoveredResource extends ResourceRef {
  readonly verbs: readonly string[];
  readonly singular: string;
  readonly shortNames: readonly string[];
}

interface AggregatedList {
  readonly kind?: string;
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly scope?: string;
        readonly verbs?: readonly string[];
        readonly singularResource?: string;
        readonly shortNames?: readonly string[];
        readonly responseKind?: { readonly kind?: string } | null;
      }[];
    }[];
  }[];
}

interface ResourceList {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly singularName?: string;
    readonly shortNames?: readonly string[];
    readonly namespaced: boolean;
    readonly verbs?: readonly string[];
  }[];
}

interface GroupList {
  readonly groups?: readonly {
    readonly name: string;
    readonly preferredVersion?: { readonly version: string };
  }[];
}

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

/** Every kind of the API server once, without subresources. Two requests where it knows aggregated discovery. */
export async function discoverResources(client: KubeClient): Promise<readonly DiscoveredResource[]> {
  const [core, groups] = await Promise.all(
    ['/api', '/apis'].map(
      (path) => client.raw('GET', path, { accept: AGGREGATED }) as Promise<AggregatedList & GroupList>,
    ),
  );
  if (core?.kind === 'APIGroupDiscoveryList' && groups?.kind === 'APIGroupDiscoveryList')
    return [...aggregated(core), ...aggregated(groups)];
  const versions = (groups?.groups ?? []).map(({ name, preferredVersion }) => ({
    group: name,
    version: preferredVersion?.version ?? 'v1',
  }));
  const lists = await Promise.all(
    [{ group: '', version: 'v1' }, ...versions].map(async ({ group, version }) => {
      const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
      return listed(group, version, (await client.raw('GET', path)) as ResourceList);
    }),
  );
  return lists.flat();
}

function aggregated(list: AggregatedList): readonly DiscoveredResource[] {
  return (list.items ?? []).flatMap(({ metadata, versions = [] }) => {
    // the first is the preferred one; a kind that only a later version has is taken from there
    const seen = new Set<string>();
    return versions.flatMap(({ version, resources = [] }) =>
      resources.flatMap(
        ({ resource, scope, verbs = [], shortNames = [], singularResource, responseKind }) => {
          if (seen.has(resource)) return [];
          seen.add(resource);
          return {
            group: metadata?.name ?? '',
            version,
            plural: resource,
            kind: responseKind?.kind ?? '',
            namespaced: scope === 'Namespaced',
            verbs,
            shortNames,
            singular: singularResource || (responseKind?.kind ?? '').toLowerCase(),
          };
        },
      ),
    );
  });
}

function listed(group: string, version: string, list: ResourceList): readonly DiscoveredResource[] {
  return (list.resources ?? [])
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, kind, singularName, namespaced, verbs = [], shortNames = [] }) => ({
      group,
      version,
      plural: name,
      kind,
      namespaced,
      verbs,
      shortNames,
      singular: singularName || kind.toLowerCase(),
    }));
}
