import { type ReadyRule, summarizeReady } from '#lib/reconcile';
import {
  type Condition,
  CONDITION,
  type ConditionDraft,
  setCondition,
  updateConditions,
} from '#lib/resources';

/**
 * The complete list of conditions: those that this pass found, and `Ready` computed from them. Other
 * conditions are not in it: conditions of failures exist only while true.
 * @param keeps types that stay as they are, because the pass did not come to them
 */
export function conditionsOf(
  before: readonly Condition[] | undefined,
  found: readonly ConditionDraft[],
  ready: ReadyRule,
  generation: number | undefined,
  now: Date,
  keeps: readonly string[] = [],
): readonly Condition[] {
  const types = new Set([...found.map(({ type }) => type), ...keeps, CONDITION.ready]);
  const kept = (before ?? []).filter(({ type }) => types.has(type));
  const drafts = Object.fromEntries(found.map(({ type, ...draft }) => [type, draft]));
  const conditions = updateConditions(kept, drafts, generation, now);
  const others = conditions.filter(({ type }) => type !== CONDITION.ready);
  return setCondition(conditions, summarizeReady(others, ready, generation), now);
}
