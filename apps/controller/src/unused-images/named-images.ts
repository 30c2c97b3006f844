import type { AgentDeployment, AgentRevision, Pod } from '#lib/resources';

/** All that may name a content of the image store. */
export interface ImageUsers {
  readonly deployments: readonly AgentDeployment[];
  readonly revisions: readonly AgentRevision[];
  readonly pods: readonly Pod[];
}

/** The digests (`sha256:HEX`) of contents that something of a namespace runs, may run again, or asks for, by namespace. */
export type NamedImages = ReadonlyMap<string, ReadonlySet<string>>;

/** Contents that are named by their digest; a reference without one names none. */
export function namedImages({ deployments, revisions, pods }: ImageUsers): NamedImages {
  const references = [
    ...deployments.map(({ metadata, spec }) => [metadata, spec.sourceRevisionConfig.imageUri] as const),
    ...revisions.flatMap(({ metadata, spec, status }) =>
      [spec.imageUri, status?.image].map((image) => [metadata, image] as const),
    ),
    ...pods.flatMap(({ metadata, spec: { containers, initContainers = [] } }) =>
      [...containers, ...initContainers].map(({ image }) => [metadata, image] as const),
    ),
  ];
  const named = new Map<string, Set<string>>();
  for (const [{ namespace = '' }, reference] of references) {
    const [, digest] = /@(sha256:[0-9a-f]{64})$/.exec(reference ?? '') ?? [];
    if (digest === undefined) continue;
    const digests = named.get(namespace) ?? new Set();
    named.set(namespace, digests.add(digest));
  }
  return named;
}

/**
 * True when a name keeps a content. Content held by all is kept by any name, other content only by names in
 * its namespaces.
 * @param holders undefined for all
 */
export function isNamed(named: NamedImages, digest: string, holders: readonly string[] | undefined): boolean {
  return [...(holders ?? named.keys())].some((namespace) => named.get(namespace)?.has(digest) === true);
}
