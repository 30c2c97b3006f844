import { type AgentRevision, CONDITION, isConditionTrue, REASON } from '#lib/resources';
import { type ImageIndex, pinImage } from './image-index.js';

/** Everything that the image of a revision depends on. */
export interface BuildWorld {
  readonly revision: AgentRevision;
  /** The revision that this one repeats; undefined when it repeats none, or one that does not exist. */
  readonly repeated: AgentRevision | undefined;
  readonly images: ImageIndex;
}

export type BuildDecision =
  /** Built already, or its variables are not stored yet: a listener may begin as soon as it is built. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'resolve'; readonly image: string }
  /** Build from git or an archive, which takes a pod and some minutes. */
  | { readonly kind: 'build' }
  | { readonly kind: 'refuse'; readonly reason: string; readonly message: string };

/** The image of a revision, decided once. A repeat gets the digest of the revision that it repeats. */
export function decideBuild({ revision, repeated, images }: BuildWorld): BuildDecision {
  const { spec, status } = revision;
  if (status?.image !== undefined || !isConditionTrue(status?.conditions, CONDITION.variablesReady))
    return { kind: 'nothing' };
  if (spec.redeployOf !== undefined && !repeated)
    return {
      kind: 'refuse',
      reason: REASON.revisionMissing,
      message: `revision ${spec.redeployOf} to repeat does not exist; request a new revision`,
    };
  const { source, imageUri = '' } = spec;
  const isOfElsewhere = repeated !== undefined && isWrittenElsewhere(repeated, revision);
  if (isOfElsewhere && source !== 'external_image')
    return {
      kind: 'refuse',
      reason: REASON.revisionMissing,
      message: `revision ${repeated.metadata.name} ran in another cluster, which says what it was made of; request a new revision`,
    };
  if (repeated?.status?.image !== undefined && !isOfElsewhere)
    return { kind: 'resolve', image: repeated.status.pinnedImage ?? repeated.status.image };
  switch (source) {
    case 'external_image':
      return { kind: 'resolve', image: isOfOwnStore(revision) ? pinImage(imageUri, images) : imageUri };
    case 'internal_image':
      return { kind: 'resolve', image: pinImage(imageUri, images) };
    case 'git_host':
    case 'internal_source':
      return { kind: 'build' };
    default:
      return source satisfies never;
  }
}

/** No registry has such a name, and no other cluster the images of this one. */
function isOfOwnStore({ spec: { imageUri = '', placeNamespace } }: AgentRevision): boolean {
  return /^local\/[^@]+$/.test(imageUri) && placeNamespace === undefined;
}

/** The listener of another cluster writes the statuses of its revisions, images included: no other cluster runs those. */
function isWrittenElsewhere(repeated: AgentRevision, { spec }: AgentRevision): boolean {
  const { placeNamespace, listenerName } = repeated.spec;
  return (
    placeNamespace !== undefined && (spec.placeNamespace === undefined || spec.listenerName !== listenerName)
  );
}
