import { type Informer, type KubeClient, StatusWriter } from '#lib/kube';
import { buildInput } from '#lib/manifests';
import { done, type Result } from '#lib/reconcile';
import {
  type AgentRevision,
  CONDITION,
  type ConditionDraft,
  FIELD_MANAGER,
  isDeleting,
  keyOf,
  type ObjectKey,
  REASON,
  RESOURCES,
  setCondition,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { BuildFinding, GitBuilds } from '../git-build/git-builds.js';
import { type BuildDecision, decideBuild } from './decide.js';
import type { ImageIndex } from './image-index.js';

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
  readonly #revisions: Pick<Informer<AgentRevision>, 'find' | 'seen'>;
  readonly #tools: BuildTools;
  readonly #status: StatusWriter;

  constructor(revisions: Pick<Informer<AgentRevision>, 'find' | 'seen'>, tools: BuildTools) {
    this.#revisions = revisions;
    this.#tools = tools;
    this.#status = new StatusWriter(tools.client, {
      fieldManager: FIELD_MANAGER.builder,
      conditionTypes: [CONDITION.built],
    });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const revision = this.#revisions.find(key);
    if (!revision || isDeleting(revision)) {
      await this.#tools.gitBuilds.abandon(key);
      return done();
    }
    const { redeployOf } = revision.spec;
    // Most passes find the image known: they shall not read the index of the store.
    if (revision.status?.image !== undefined && !buildInput(revision)) return done();
    const repeated =
      redeployOf === undefined ? undefined : this.#revisions.find({ ...key, name: redeployOf });
    const images = await this.#tools.readImages(key.namespace ?? '');
    const decision = decideBuild({ revision, repeated, images });
    // one that is built may have left a Job behind
    if (decision.kind === 'build' || (decision.kind === 'nothing' && revision.status?.build))
      return await this.#tools.gitBuilds.reconcile(revision, repeated, (finding) =>
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
    const revision = this.#revisions.find(keyOf(given)) ?? given;
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
      conditions: setCondition(before, condition, this.#tools.clock.now()),
    };
    const written = await this.#status.apply(RESOURCES.AgentRevision, revision, next, ['build']);
    await this.#revisions.seen(written);
  }
}
