import type { Pod } from './built-in/pod.js';
import { CONDITION } from './condition-type.js';
import type { Condition } from './generated/shared.js';

/** A condition before it has its time. */
export type ConditionDraft = Omit<Condition, 'lastTransitionTime'>;

/** Draft of each type; `undefined` removes the condition. */
export type ConditionDrafts = Readonly<Record<string, Omit<ConditionDraft, 'type'> | undefined>>;

/** The condition of this type, if there; of our resources, and of pods, nodes and workloads. */
export function findCondition<C extends { readonly type: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** True when the condition of this type is there with status True. */
export function isConditionTrue(
  conditions: readonly { readonly type: string; readonly status?: string | undefined }[] | undefined,
  type: string,
): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/** True for a pod whose containers are ready, also while it is being deleted. */
export function isPodReady({ status }: Pod): boolean {
  return isConditionTrue(status?.conditions, CONDITION.ready);
}

/**
 * The list with this condition set; the order of the others stays, a new type comes last. `lastTransitionTime` moves
 * only when the status changes.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  draft: ConditionDraft,
  now: Date,
): readonly Condition[] {
  const existing = conditions ?? [];
  const before = findCondition(existing, draft.type);
  const next: Condition = {
    ...draft,
    lastTransitionTime:
      before?.status === draft.status ? before.lastTransitionTime : now.toISOString().replace(/\.\d+Z$/, 'Z'),
  };
  return before
    ? existing.map((condition) => (condition.type === draft.type ? next : condition))
    : [...existing, next];
}

/** The list without this condition: for conditions that exist only while true. */
export function removeCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): readonly Condition[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}

/**
 * The list after everything that a pass has to say: drafts set the conditions of their types, `undefined` removes one,
 * and types that are not mentioned stay as they are.
 */
export function updateConditions(
  conditions: readonly Condition[] | undefined,
  drafts: ConditionDrafts,
  generation: number | undefined,
  now: Date,
): readonly Condition[] {
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  let list = conditions ?? [];
  for (const [type, draft] of Object.entries(drafts))
    list = draft ? setCondition(list, { type, ...observed, ...draft }, now) : removeCondition(list, type);
  return list;
}
