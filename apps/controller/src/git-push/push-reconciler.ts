import { TerminalError, WaitingError } from '#lib/errors';
import { type EventRecorder, type Informer, type KubeClient, StatusWriter } from '#lib/kube';
import type { AddressGuard } from '#lib/outbound';
import { after, done, type Result } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentDeploymentStatus,
  type AgentRevision,
  ANNOTATION,
  CONDITION,
  type ConditionDraft,
  EVENT,
  FIELD_MANAGER,
  idOf,
  isDeleting,
  keyOf,
  keyText,
  type ObjectKey,
  REASON,
  RESOURCES,
  setCondition,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { isHandled, ownRevisions } from '../agent-deployment/decide-revision.js';
import { isBuildOver } from '../git-build/decide-git-build.js';
import { findRemote } from '../git-build/find-login.js';
import type { CommitLooks } from '../git-remote/commit-looks.js';
import { findCommit } from '../git-remote/find-commit.js';
import { derivedUuid } from '../identity/decide-id.js';

/**
 * Pushes to a branch as recorded in the status of its deployment; only the revision once it is not followed.
 */
export type SeenPush = NonNullable<AgentDeploymentStatus['push']>;

/**
 * **build**: the branch has a commit that no revision was made for because of it, or whose revision failed before it found
 * the commit. **later**: the same, too soon after that revision was made. **same**: nothing was pushed, or the branch was
 * not seen before. **wait**: the newest revision looks for the commit itself, or a revision is asked for and not made yet.
 */
export type PushDecision = 'build' | 'later' | 'same' | 'wait';

/** Pause between two revisions of one commit, in milliseconds. */
const AGAIN_MS = 600_000;

/** Everything that the decision depends on. */
export interface PushWorld {
  /** Commit at which the branch was last seen, if it ever was. */
  readonly push: SeenPush | undefined;
  readonly newest: AgentRevision | undefined;
  /** True when a revision is requested that does not exist yet. */
  readonly isRevisionAsked: boolean;
  readonly now: Date;
}

/** The branch that a deployment follows, `HEAD` for the default one; undefined when it follows none. */
export function followedRef(deployment: AgentDeployment): string | undefined {
  return deployment.spec.suspend === true ? undefined : rememberedRef(deployment);
}

/** The branch that it follows, or will again once it is not suspended any more. */
function rememberedRef({ spec }: AgentDeployment): string | undefined {
  const { source, sourceConfig, sourceRevisionConfig } = spec;
  if (source !== 'git_host' || sourceConfig.buildOnPush !== true) return undefined;
  const { repoRef = 'HEAD' } = sourceRevisionConfig;
  return repoRef.startsWith('refs/tags/') ? undefined : repoRef;
}

/**
 * True when the branch has to be looked up before anything can be decided. The newest revision must have its
 * commit first: it may be made of the very push that is not noted yet.
 */
export function mayLook({ newest, isRevisionAsked }: PushWorld): boolean {
  if (isRevisionAsked || newest === undefined) return false;
  return newest.status?.repoCommitSha !== undefined || isBuildOver(newest);
}

/**
 * Meaning of a look-up of the branch. A push is a change of the commit seen before, and not a difference from
 * the newest revision: that one may repeat an earlier commit on purpose. A branch that was never seen is
 * noted, and built only when the newest revision found no commit.
 */
export function decidePush(world: PushWorld, ref: string, found: string): PushDecision {
  if (!mayLook(world)) return 'wait';
  const revised = world.newest?.status?.repoCommitSha;
  if (revised === found) return 'same';
  const seen = seenCommit(world, ref);
  if (seen === undefined) return revised === undefined ? 'build' : 'same';
  if (seen !== found) return 'build';
  return isLost(world, ref) ? decideAgain(world) : 'same';
}

/**
 * True when the commit was noted, and the revision made since failed before it found a commit: once for each.
 */
function isLost({ push, newest }: PushWorld, ref: string): boolean {
  if (!newest || newest.status?.repoCommitSha !== undefined) return false;
  return isOfBranch(newest, ref) && newest.spec.number > (push?.revision ?? 0);
}

function decideAgain({ newest, now }: PushWorld): PushDecision {
  const sinceMs = now.getTime() - Date.parse(newest?.metadata.creationTimestamp ?? '');
  return sinceMs < AGAIN_MS ? 'later' : 'build';
}

/**
 * Commit of the branch when the platform saw it last: by a look-up, or by a later revision that was made of
 * the branch while it was followed, and repeats nothing. Undefined when it was not seen since it is followed.
 */
function seenCommit({ push, newest }: PushWorld, ref: string): string | undefined {
  const made = newest && isOfBranch(newest, ref) && newest.spec.number > (push?.revision ?? 0);
  const revised = made === true ? newest.status?.repoCommitSha : undefined;
  return revised ?? (push?.ref === ref ? push.commit : undefined);
}

function isOfBranch({ spec: { git, redeployOf } }: AgentRevision, ref: string): boolean {
  return git?.buildOnPush === true && redeployOf === undefined && (git.repoRef ?? 'HEAD') === ref;
}

/** Dependencies of the reconciler. */
export interface PushTools {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly guard: AddressGuard;
  /** Shared with builds: places and queues hold for all look-ups together. */
  readonly looks: CommitLooks;
  readonly events: Pick<EventRecorder, 'record'>;
  /** Interval between two look-ups of one branch. */
  readonly periodMs: number;
  readonly deployments: Pick<Informer<AgentDeployment>, 'find' | 'list' | 'seen'>;
  readonly revisions: Pick<Informer<AgentRevision>, 'ownedBy'>;
}

/** Result of a look-up. */
type Finding = Omit<ConditionDraft, 'type'> & {
  readonly commit?: string;
  /** True when the newest revision does not contain the commit seen yet. */
  readonly isOpen?: boolean;
};

/** One workspace's branches are looked at no more often than this, however many there are. */
const NAMESPACE_PERIOD_MS = 2_000;
/** Requeue delay while a look-up is in flight, or a revision is being made. */
const SOON_MS = 2_000;
const OWNED = ['push'] as const;
const LATER =
  '; its revision failed before it found the commit, and another is made ten minutes after that one';

/**
 * Follows the branches of deployments with `buildOnPush`: get → gone → followed → due → look → decide → ask for a revision →
 * report. It owns `status.push` and `PushesFollowed` under a field manager of its own. The revision is asked for before
 * the push is noted, by an id that is made of the commit and of what is noted until then: as long as that fails, the same
 * one is asked for.
 */
export class PushReconciler {
  readonly #status: StatusWriter;
  /** Times at which branches are looked up again, by the key of their deployment, on the monotonic clock. */
  readonly #due = new Map<string, { readonly ref: string; readonly heard: string; readonly atMs: number }>();

  constructor(private readonly tools: PushTools) {
    this.#status = new StatusWriter(tools.client, {
      fieldManager: FIELD_MANAGER.pushes,
      conditionTypes: [CONDITION.pushesFollowed],
    });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const { deployments, clock } = this.tools;
    const deployment = deployments.find(key);
    const ref = deployment && !isDeleting(deployment) ? followedRef(deployment) : undefined;
    if (!deployment || ref === undefined) {
      this.#due.delete(keyText(key));
      if (deployment && !isDeleting(deployment)) await this.#forget(deployment);
      return done();
    }
    const due = this.#due.get(keyText(key));
    // an announcement of a git host is not trusted: it only brings the next check forward
    const heard = heardOf(deployment);
    if (due?.ref === ref && due.heard === heard && due.atMs > clock.monotonicMs())
      return after(due.atMs - clock.monotonicMs());
    const world = this.#observe(deployment);
    if (!mayLook(world)) return after(SOON_MS);
    const finding = await this.#look(deployment, ref, world);
    if (finding === undefined) return after(SOON_MS);
    await this.#report(deployment, { ref, revision: world.newest?.spec.number ?? 0 }, finding);
    const periodMs = this.#periodOf(deployment);
    this.#due.set(keyText(key), { ref, heard, atMs: clock.monotonicMs() + periodMs });
    return after(periodMs);
  }

  #observe(deployment: AgentDeployment): PushWorld {
    const revisions = ownRevisions(this.tools.revisions, deployment);
    return {
      push: deployment.status?.push,
      newest: newestOf(revisions),
      isRevisionAsked: !isHandled(deployment, revisions),
      now: this.tools.clock.now(),
    };
  }

  /** @returns undefined while the host is asked, or a revision comes first */
  async #look(deployment: AgentDeployment, ref: string, world: PushWorld): Promise<Finding | undefined> {
    const { uid = '', namespace = '', generation } = deployment.metadata;
    const asker = {
      uid,
      namespace,
      // a look that began before the newest revision had its commit, or before a push, is older than that
      question: `${generation ?? 0}/${world.newest?.spec.number ?? 0}/${heardOf(deployment)}`,
      subject: `${deployment.spec.sourceConfig.repoUrl ?? ''} ${ref}`,
    };
    try {
      const commit = await this.tools.looks.ask(asker, () => this.#find(deployment));
      if (commit === undefined) return undefined;
      const decision = decidePush(world, ref, commit);
      switch (decision) {
        case 'wait':
          return undefined;
        case 'later':
        case 'same':
          return {
            commit,
            isOpen: decision === 'later',
            status: 'True',
            reason: REASON.upToDate,
            message: this.#text(ref, commit, decision === 'later' ? LATER : sameText(world, ref, commit)),
          };
        case 'build':
          await this.#askForRevision(deployment, ref, { commit, world });
          return {
            commit,
            status: 'True',
            reason: REASON.pushed,
            message: this.#text(ref, commit, '; building it'),
          };
        default:
          return decision satisfies never;
      }
    } catch (error) {
      if (!(error instanceof TerminalError) && !(error instanceof WaitingError)) throw error;
      const { reason, message } = error;
      const status = error instanceof TerminalError ? 'False' : 'Unknown';
      return { status, reason, message: `${message} (looked at ${this.#now()})` };
    }
  }

  async #find({ metadata: { namespace = '' }, spec }: AgentDeployment): Promise<string> {
    const { client, guard } = this.tools;
    const { repoUrl = '', integrationId } = spec.sourceConfig;
    const source = { repoUrl, ...(integrationId === undefined ? {} : { integrationId }) };
    const remote = await findRemote(client, namespace, source);
    return await findCommit(remote, spec.sourceRevisionConfig.repoRef, guard);
  }

  /** An earlier request may name a revision to repeat, which this one must not inherit. */
  async #askForRevision(
    deployment: AgentDeployment,
    ref: string,
    { commit, world }: { readonly commit: string; readonly world: PushWorld },
  ): Promise<void> {
    const { client, clock, events, deployments } = this.tools;
    const { resourceVersion } = deployment.metadata;
    const { lookedAt, revision = '' } = world.push ?? {};
    const id = derivedUuid('push', idOf(deployment) ?? '', ref, commit, lookedAt ?? revision);
    const revisionRequest = { id, at: clock.now().toISOString(), fromRevisionId: null };
    const patch = { metadata: { resourceVersion }, spec: { revisionRequest } };
    await deployments.seen(await client.merge(RESOURCES.AgentDeployment, keyOf(deployment), patch));
    events.record(RESOURCES.AgentDeployment, deployment, {
      type: 'Normal',
      reason: EVENT.pushed,
      message: `${ref} is at ${commit}; building it`,
    });
  }

  async #report(
    given: AgentDeployment,
    looked: { readonly ref: string; readonly revision: number },
    { commit, isOpen = false, ...draft }: Finding,
  ): Promise<void> {
    const { deployments, clock } = this.tools;
    const deployment = deployments.find(keyOf(given)) ?? given;
    const type = CONDITION.pushesFollowed;
    const before = deployment.status?.conditions?.filter((one) => one.type === type);
    const push =
      commit === undefined
        ? deployment.status?.push
        : {
            ...looked,
            ...(isOpen ? { revision: deployment.status?.push?.revision ?? 0 } : {}),
            commit,
            lookedAt: clock.now().toISOString(),
          };
    await this.#write(deployment, {
      ...(push ? { push } : {}),
      conditions: setCondition(before, { type, ...draft }, clock.now()),
    });
  }

  /**
   * Forgets the commit seen once the branch is not followed: a later push may be to another branch. The
   * number of the last revision stays: no older revision counts for the branch when it is followed again.
   * Everything is kept while the deployment is suspended: a commit found afterwards would pass for a push,
   * also over an earlier commit that is deployed on purpose.
   */
  async #forget(deployment: AgentDeployment): Promise<void> {
    const { push, conditions } = deployment.status ?? {};
    const isKept = push?.ref === undefined || push.ref === rememberedRef(deployment);
    if (isKept && !conditions?.some(({ type }) => type === CONDITION.pushesFollowed)) return;
    const revision = newestOf(this.tools.revisions.ownedBy(deployment))?.spec.number ?? push?.revision ?? 0;
    const kept = isKept ? push : { revision };
    await this.#write(deployment, { ...(kept ? { push: kept } : {}), conditions: [] });
  }

  async #write(deployment: AgentDeployment, status: AgentDeploymentStatus): Promise<void> {
    const written = await this.#status.apply(RESOURCES.AgentDeployment, deployment, status, OWNED);
    await this.tools.deployments.seen(written);
  }

  #periodOf({ metadata: { namespace = '' } }: AgentDeployment): number {
    const followed = this.tools.deployments
      .list(namespace)
      .filter((one) => followedRef(one) !== undefined).length;
    return Math.max(this.tools.periodMs, followed * NAMESPACE_PERIOD_MS);
  }

  #text(ref: string, commit: string, more: string): string {
    const branch = ref === 'HEAD' ? 'the default branch' : ref;
    return `${branch} was at ${commit} when it was looked at, ${this.#now()}${more}`;
  }

  #now(): string {
    return this.tools.clock.now().toISOString();
  }
}

function heardOf({ metadata }: AgentDeployment): string {
  return metadata.annotations?.[ANNOTATION.pushHeard] ?? '';
}

function newestOf(revisions: readonly AgentRevision[]): AgentRevision | undefined {
  return revisions.toSorted((a, b) => a.spec.number - b.spec.number).at(-1);
}

/** Says when the branch is ahead of what runs, and nothing is built because of it. */
function sameText(world: PushWorld, ref: string, found: string): string {
  const isNoted = seenCommit(world, ref) === undefined && world.newest?.status?.repoCommitSha !== found;
  return isNoted ? '; the newest revision is of another commit, and later pushes are built' : '';
}
