import { type KubeClient, type Reader, StatusWriter } from '#lib/kube';
import { done, type Result } from '#lib/reconcile';
import {
  type AgentRevision,
  CONDITION,
  type ConditionDraft,
  FIELD_MANAGER,
  isDeleting,
  type ObjectKey,
  REASON,
  RESOURCES,
  setCondition,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { type BuildDecision, decideBuild } from './decide.js';
import type { ImageIndex } from './image-index.js';

/** What the reconciler works with. */
export interface BuildTools {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** The images that a namespace has. */
  readonly readImages: (namespace: string) => Promise<ImageIndex>;
}

/**
 * Builds revisions: get → gone → observe → decide → report. It finds out the image and owns `status.image` and `Built`
 * under a field manager of its own, so that another builder can take its place; the listener begins once `Built` is True.
 */
export class BuildReconciler {
  readonly #revisions: Pick<Reader<AgentRevision>, 'find'>;
  readonly #tools: BuildTools;
  readonly #status: StatusWriter;

  constructor(revisions: Pick<Reader<AgentRevision>, 'find'>, tools: BuildTools) {
    this.#revisions = revisions;
    this.#tools = tools;
    this.#status = new StatusWriter(tools.client, {
      fieldManager: FIELD_MANAGER.builder,
      conditionTypes: [CONDITION.built],
    });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const revision = this.#revisions.find(key);
    // Most passes find the image known: they shall not read the index of the store.
    if (!revision || isDeleting(revision) || revision.status?.image !== undefined) return done();
    const { redeployOf } = revision.spec;
    const decision = decideBuild({
      revision,
      repeated: redeployOf === undefined ? undefined : this.#revisions.find({ ...key, name: redeployOf }),
      images: await this.#tools.readImages(key.namespace ?? ''),
    });
    await this.#report(revision, decision);
    return done();
  }

  async #report(revision: AgentRevision, decision: BuildDecision): Promise<void> {
    if (decision.kind === 'nothing') return;
    const { generation } = revision.metadata;
    const draft: ConditionDraft = {
      ...(decision.kind === 'resolve'
        ? { status: 'True' as const, reason: REASON.image, message: `image resolved to ${decision.image}` }
        : { status: 'False' as const, reason: decision.reason, message: decision.message }),
      type: CONDITION.built,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
    const before = revision.status?.conditions?.filter(({ type }) => type === CONDITION.built);
    await this.#status.apply(RESOURCES.AgentRevision, revision, {
      ...(decision.kind === 'resolve' ? { image: decision.image } : {}),
      conditions: setCondition(before, draft, this.#tools.clock.now()),
    });
  }
}
