import type { KubeClient } from '#lib/kube';
import { type ObjectKey, RESOURCES } from '#lib/resources';
import { type Clock, systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { followObject } from '../waiting/follow-object.js';
import { progressLines } from '../waiting/progress-lines.js';
import { decideRollout, type Rollout, type Wanted } from './decide-rollout.js';

/** A refusal may be left over from before: it counts once it has lasted for so long. */
const LASTING_MS = 3_000;

export interface WaitOptions {
  readonly timeoutMs: number;
  /** One line, each time that something else is waited for. */
  readonly onProgress: (message: string) => void;
  readonly clock?: Clock;
}

/**
 * Waits until the deployment serves what was asked for.
 * @throws CommandError `failed` with the reason, `timedOut`, or `notFound` when it was deleted meanwhile
 */
export async function waitForRollout(
  client: KubeClient,
  key: ObjectKey,
  wanted: Wanted,
  { timeoutMs, onProgress, clock = systemClock }: WaitOptions,
): Promise<Extract<Rollout, { kind: 'ready' }>> {
  const show = progressLines(onProgress, () => clock.monotonicMs());
  let last = 'waiting for the controller';
  let failedSinceMs: number | undefined;
  for await (const deployment of followObject(client, RESOURCES.AgentDeployment, key, { timeoutMs, clock })) {
    if (!deployment)
      throw new CommandError('notFound', `AgentDeployment ${key.name} was deleted while it was deployed`);
    const rollout = decideRollout(deployment, wanted);
    switch (rollout.kind) {
      case 'ready':
        return rollout;
      case 'failed':
        failedSinceMs ??= clock.monotonicMs();
        if (clock.monotonicMs() - failedSinceMs < LASTING_MS) break;
        throw new CommandError(
          'failed',
          `deploying ${key.name} failed (${rollout.reason}): ${rollout.message}; "agentplane describe adep ${key.name}" and "agentplane logs ${key.name}" show more`,
        );
      case 'pending':
        failedSinceMs = undefined;
        if (rollout.message !== last) show(rollout.message);
        last = rollout.message;
        break;
      default:
        rollout satisfies never;
    }
  }
  throw new CommandError(
    'timedOut',
    `${key.name} is not ready after ${timeoutMs / 1000} s: ${last}; it goes on, and "agentplane get adep ${key.name}" shows how far`,
  );
}
