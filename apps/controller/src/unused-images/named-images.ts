import type { AgentDeployment, AgentRevision, Pod } from '#lib/resources';

/** All that may name a content of the image store. */
export interface ImageUsers {
  readonly deployments: readonly AgentDeployment[];
  readonly revisions: readonly AgentRevision[];
  readonly pods: readonly Pod[];
}

/** The digests (`sha256:HEX`) of contents that something runs, may run again, or asks for. */
export function namedImages({ deployments, revisions, pods }: ImageUsers): ReadonlySet<string> {
  const references = [
    ...deployments.map(({ spec }) => spec.sourceRevisionConfig.imageUri),
    ...revisions.flatMap(({ spec, status }) => [spec.imageUri, status?.image]),
    ...pods.flatMap(({ spec: { containers, initContainers = [] } }) =>
      [...containers, ...initContainers].map(({ image }) => image),
    ),
  ];
  return new Set(references.flatMap((one) => /@(sha256:[0-9a-f]{64})$/.exec(one ?? '')?.[1] ?? []));
}
