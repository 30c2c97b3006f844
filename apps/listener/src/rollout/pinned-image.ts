import { AGENT_CONTAINER } from '#lib/manifests';
import { type AgentDeployment, type AgentRevision, ANNOTATION, type Pod } from '#lib/resources';
import type { RevisionWorld } from './world.js';

/** Some runtimes write how they got it in front. */
const IMAGE_ID = /^(?:[a-z-]+:\/\/)?([^@]+)@(sha256:[0-9a-f]{64})$/;

/**
 * The image of a registry that a revision names by a tag, by the digest that its first ready pod reports: the tag may be
 * another image by tomorrow. Undefined for an image that has a digest, and where the node reports none of this
 * repository: digests of others, or of what was loaded by hand, cannot be pulled from it.
 */
export function findPinnedImage({
  revision,
  origin,
  pods,
}: Pick<RevisionWorld, 'revision' | 'origin' | 'pods'>): string | undefined {
  const { spec, status } = revision;
  if (status?.pinnedImage !== undefined) return status.pinnedImage;
  const image = status?.image;
  if (spec.source !== 'external_image' || image === undefined || image.includes('@')) return undefined;
  // pods of another revision's Deployment run what that one was resolved to
  if (origin !== revision) return undefined;
  const repository = withoutTag(image);
  for (const pod of pods) {
    const [, reported, digest] = IMAGE_ID.exec(imageIdOf(pod, image) ?? '') ?? [];
    if (reported !== undefined && wholeName(reported) === wholeName(repository))
      return `${repository}@${digest}`;
  }
  return undefined;
}

/**
 * The revision as pods of it should be made: pinned while it has none, since a change of the template would replace those
 * that run.
 */
export function pinnedRevision(
  placed: AgentRevision,
  { workload }: Pick<RevisionWorld, 'workload'>,
): AgentRevision {
  const { status } = placed;
  const pinned = status?.pinnedImage;
  if (pinned === undefined) return placed;
  const container = workload?.spec.template.spec.containers.find(({ name }) => name === AGENT_CONTAINER);
  const hasPods = (workload?.spec.replicas ?? 0) > 0;
  return hasPods && container?.image !== pinned
    ? placed
    : { ...placed, status: { ...status, image: pinned } };
}

/**
 * The revision with the restart that its pods should have. One of another revision leaves the former stamp, since a template
 * without it would replace these pods too.
 */
export function stampedRevision(
  placed: AgentRevision,
  { revision, workload }: Pick<RevisionWorld, 'revision' | 'workload'>,
  { metadata: { annotations } }: AgentDeployment,
): AgentRevision {
  const asked = annotations?.[ANNOTATION.restart];
  const isAsked = asked?.startsWith(`${revision.metadata.name}@`) ?? false;
  const stamp = isAsked ? asked : workload?.spec.template.metadata?.annotations?.[ANNOTATION.restart];
  if (stamp === undefined) return placed;
  const { metadata } = placed;
  return {
    ...placed,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [ANNOTATION.restart]: stamp } },
  };
}

/** Image id that the node reports for the agent's container that runs this image and is ready. */
function imageIdOf({ spec, status }: Pod, image: string): string | undefined {
  const isOfImage = spec.containers.some((one) => one.name === AGENT_CONTAINER && one.image === image);
  const found = status?.containerStatuses?.find(({ name }) => name === AGENT_CONTAINER);
  return isOfImage && found?.ready ? found.imageID : undefined;
}

/** A colon after the last slash begins a tag; before it, a port. */
function withoutTag(image: string): string {
  return image.replace(/:[^/:]+$/, '');
}

/** Whole name of a repository: short names of Docker Hub are expanded as nodes do. */
function wholeName(repository: string): string {
  const [first = '', ...rest] = repository.split('/');
  if (rest.length === 0) return `docker.io/library/${first}`;
  const isHost = /[.:]/.test(first) || first === 'localhost';
  return isHost ? repository : `docker.io/${repository}`;
}
