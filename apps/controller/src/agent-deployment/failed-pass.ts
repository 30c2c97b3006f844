import { TerminalError } from '#lib/errors';
import { type Condition, CONDITION, type ConditionDraft, isConditionTrue, REASON } from '#lib/resources';

/** In the order in which a pass comes to them. */
const STAGES: readonly string[] = [
  CONDITION.tracingProjectReady,
  CONDITION.databaseReady,
  CONDITION.revisionReady,
];

/** What a pass that failed has to say. */
export interface FailedPass {
  readonly conditions: readonly ConditionDraft[];
  /** Types of which it found out nothing: they stay as they are. */
  readonly keeps: readonly string[];
  /** Whether a person has to change something, so that this generation is handled as far as it can be. */
  readonly isHandled: boolean;
}

/**
 * Says on the condition that was being worked on what went wrong. An error that passes by itself makes nothing untrue
 * that was true before: a database is not gone because a request failed.
 * @param found what the pass found before it failed
 */
export function failedPass(
  found: readonly ConditionDraft[],
  before: readonly Condition[] | undefined,
  error: unknown,
): FailedPass {
  const types = new Set(found.map(({ type }) => type));
  const type = STAGES.find((one) => !types.has(one)) ?? CONDITION.revisionReady;
  const others = STAGES.filter((one) => !types.has(one) && one !== type);
  if (error instanceof TerminalError) {
    const { reason, message } = error;
    return {
      conditions: [...found, { type, status: 'False', reason, message }],
      keeps: others,
      isHandled: true,
    };
  }
  if (isConditionTrue(before, type)) return { conditions: found, keeps: [type, ...others], isHandled: false };
  // the text of a database's or server's error belongs in the log: it may name hosts and users
  const message = 'trying again after an error; see the log of the controller';
  const blamed: ConditionDraft = { type, status: 'Unknown', reason: REASON.progressing, message };
  return { conditions: [...found, blamed], keeps: others, isHandled: false };
}
