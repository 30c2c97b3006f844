import type { AgentDeployment, AgentDeploymentStatus, AgentRevision } from '#lib/resources';
import { isBuildOver } from '../git-build/decide-git-build.js';

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
export function rememberedRef({ spec }: AgentDeployment): string | undefined {
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
export function seenCommit({ push, newest }: PushWorld, ref: string): string | undefined {
  const made = newest && isOfBranch(newest, ref) && newest.spec.number > (push?.revision ?? 0);
  const revised = made === true ? newest.status?.repoCommitSha : undefined;
  return revised ?? (push?.ref === ref ? push.commit : undefined);
}

function isOfBranch({ spec: { git, redeployOf } }: AgentRevision, ref: string): boolean {
  return git?.buildOnPush === true && redeployOf === undefined && (git.repoRef ?? 'HEAD') === ref;
}
