import type { AgentDeployment, AgentDeploymentStatus, AgentRevision } from '#lib/resources';
import { isBuildOver } from '../git-build/decide-git-build.js';

/** What is known of pushes to a branch; in the status of its deployment. */
export type SeenPush = NonNullable<AgentDeploymentStatus['push']>;

/**
 * **build**: the branch has a commit that no revision was made for because of it. **same**: nothing was pushed, or the
 * branch was not seen before. **wait**: the newest revision looks for the commit itself, or a revision is asked for and
 * not made yet.
 */
export type PushDecision = 'build' | 'same' | 'wait';

/** Everything that the decision depends on. */
export interface PushWorld {
  /** What the branch was at, as far as it was ever seen. */
  readonly push: SeenPush | undefined;
  readonly newest: AgentRevision | undefined;
  /** Whether a revision is asked for that does not exist yet. */
  readonly isRevisionAsked: boolean;
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
 * Whether the branch has to be looked at before anything can be decided. Not before the newest revision has its commit: it
 * may be made of the very push that is not noted yet.
 */
export function mayLook({ newest, isRevisionAsked }: PushWorld): boolean {
  if (isRevisionAsked || newest === undefined) return false;
  return newest.status?.repoCommitSha !== undefined || isBuildOver(newest);
}

/**
 * What a look at the branch means. A push is a change of what was seen before, and not a difference from the newest
 * revision: that one may repeat an earlier commit on purpose. A branch that was never seen is noted, and built only when
 * the newest revision found no commit.
 */
export function decidePush(world: PushWorld, ref: string, found: string): PushDecision {
  if (!mayLook(world)) return 'wait';
  const { push, newest } = world;
  const revised = newest?.status?.repoCommitSha;
  if (push?.ref === ref) return push.commit === found || revised === found ? 'same' : 'build';
  return revised === undefined ? 'build' : 'same';
}
