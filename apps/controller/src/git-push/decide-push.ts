import type { AgentDeployment, AgentDeploymentStatus, AgentRevision } from '#lib/resources';
import { isBuildOver } from '../git-build/decide-git-build.js';

/** What is known of pushes to a branch; in the status of its deployment. */
export type SeenPush = NonNullable<AgentDeploymentStatus['push']>;

/**
 * **build**: the branch has a commit that no revision was made for because of it. **same**: nothing was pushed. **wait**:
 * the newest revision looks for the commit itself, or a revision is asked for and not made yet.
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
export function followedRef({ spec }: AgentDeployment): string | undefined {
  const { source, sourceConfig, sourceRevisionConfig, suspend } = spec;
  if (source !== 'git_host' || suspend === true || sourceConfig.buildOnPush !== true) return undefined;
  const { repoRef = 'HEAD' } = sourceRevisionConfig;
  return repoRef.startsWith('refs/tags/') ? undefined : repoRef;
}

/** Whether the branch has to be looked at before anything can be decided. */
export function mayLook({ push, newest, isRevisionAsked }: PushWorld, ref: string): boolean {
  if (isRevisionAsked || newest === undefined) return false;
  return push?.ref === ref || newest.status?.repoCommitSha !== undefined || isBuildOver(newest);
}

/**
 * What a look at the branch means. A push is a change of what was seen before, and not a difference from the newest
 * revision: that one may repeat an earlier commit on purpose.
 */
export function decidePush(world: PushWorld, ref: string, found: string): PushDecision {
  if (!mayLook(world, ref)) return 'wait';
  const { push, newest } = world;
  if (push?.ref === ref && push.commit === found) return 'same';
  return newest?.status?.repoCommitSha === found ? 'same' : 'build';
}
