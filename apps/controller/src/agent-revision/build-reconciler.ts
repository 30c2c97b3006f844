import { isOpenTo, readImageEntries } from '#lib/image-store';
import { type Informer, type KubeClient, StatusWriter } from '#lib/kube';
import { buildInput } from '#lib/manifests';
import { done, type Result } from '#lib/reconcile';
import {
  type AgentRevision,
  CONDITION,
  type ConditionDraft,
  FIELD_MANAGER,
  isConditionTrue,
  isDeleting,
  keyOf,
  type ObjectKey,
  REASON,
  RESOURCES,
  setCondition,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { BuildFinding, GitBuilds } from '../git-build/git-builds.js';

/** Names of images in the store with their digests (`sha256:HEX`). */
type ImageIndex = ReadonlyMap<string, string>;

/**
 * Images of a namespace in the image store; empty when there is no store or no image in it. Entries without a
 * digest are skipped. An image of another namespace is treated as one that does not exist.
 */
export async function readImageIndex(folder: string | undefined, namespace: string): Promise<ImageIndex> {
  const entries = folder === undefined ? {} : await readImageEntries(folder);
  const index = new Map<string, string>();
  for (const [name, entry] of Object.entries(entries))
    if (/^sha256:[0-9a-f]{64}$/.test(entry.digest) && isOpenTo(entry, namespace))
      index.set(name, entry.digest);
  return index;
}

/**
 * The reference that a revision runs from then on. Images of the platform's own store are pinned by digest; a name that
 * the store does not have stays as it is, and the pod reports that the image is missing, as with any registry.
 */
export function pinImage(imageUri: string, index: ImageIndex): string {
  const name = imageUri.replace(/^local\//, '');
  const digest = index.get(name);
  return digest === undefined ? `local/${name}` : `local/${name}@${digest}`;
}

/** Everything that the image of a revision depends on. */
export interface BuildWorld {
  readonly revision: AgentRevision;
  /** The revision that this one repeats; undefined when it repeats none, or one that does not exist. */
  readonly repeated: AgentRevision | undefined;
  readonly images: ImageIndex;
}

type BuildDecision =
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

/** Dependencies of the reconciler. */
export interface BuildTools {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** The images that a namespace has. */
  readonly readImages: (namespace: string) => Promise<ImageIndex>;
  readonly gitBuilds: Pick<GitBuilds, 'reconcile' | 'abandon'>;
}

/**
 * Builds revisions: get → gone → observe → decide → report. It finds out the image and owns `status.image` and `Built`
 * under a field manager of its own, so that another builder can take its place; the listener begins once `Built` is True.
 */
export class BuildReconciler {
  readonly #status: StatusWriter;

  constructor(
    private readonly revisions: Pick<Informer<AgentRevision>, 'find' | 'seen'>,
    private readonly tools: BuildTools,
  ) {
    this.#status = new StatusWriter(tools.client, {
      fieldManager: FIELD_MANAGER.builder,
      conditionTypes: [CONDITION.built],
    });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const revision = this.revisions.find(key);
    if (!revision || isDeleting(revision)) {
      await this.tools.gitBuilds.abandon(key);
      return done();
    }
    const { redeployOf } = revision.spec;
    // Most passes find the image known: they shall not read the index of the store.
    if (revision.status?.image !== undefined && !buildInput(revision)) return done();
    const repeated = redeployOf === undefined ? undefined : this.revisions.find({ ...key, name: redeployOf });
    const images = await this.tools.readImages(key.namespace ?? '');
    const decision = decideBuild({ revision, repeated, images });
    // one that is built may have left a Job behind
    if (decision.kind === 'build' || (decision.kind === 'nothing' && revision.status?.build))
      return await this.tools.gitBuilds.reconcile(revision, repeated, (finding) =>
        this.#write(revision, finding),
      );
    await this.#report(revision, decision, repeated);
    return done();
  }

  async #report(
    revision: AgentRevision,
    decision: Exclude<BuildDecision, { readonly kind: 'build' }>,
    repeated: AgentRevision | undefined,
  ): Promise<void> {
    if (decision.kind === 'nothing') return;
    if (decision.kind === 'refuse')
      return await this.#write(revision, { draft: { ...decision, status: 'False' } });
    const { image } = decision;
    const message = `image resolved to ${image}`;
    const { repoCommitSha } = repeated?.status ?? {};
    await this.#write(revision, {
      image,
      draft: { status: 'True', reason: REASON.image, message },
      ...(repoCommitSha === undefined ? {} : { repoCommitSha }),
    });
  }

  /** An applied status owns what it names: what was found out earlier is named again. */
  async #write(given: AgentRevision, { draft, isPutBack = false, ...found }: BuildFinding): Promise<void> {
    const revision = this.revisions.find(keyOf(given)) ?? given;
    const { image, repoCommitSha, build, conditions } = revision.status ?? {};
    const { generation } = revision.metadata;
    const { status, reason, message } = draft;
    const condition: ConditionDraft = {
      type: CONDITION.built,
      status,
      reason,
      message,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
    const before = conditions?.filter(({ type }) => type === CONDITION.built);
    const next = {
      ...(image === undefined ? {} : { image }),
      ...(repoCommitSha === undefined ? {} : { repoCommitSha }),
      ...(build === undefined || isPutBack ? {} : { build }),
      ...found,
      conditions: setCondition(before, condition, this.tools.clock.now()),
    };
    const written = await this.#status.apply(RESOURCES.AgentRevision, revision, next, ['build']);
    await this.revisions.seen(written);
  }
}
