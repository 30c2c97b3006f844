import type { PairFamily } from '../fields.js';
import type { Filter } from '../filter.js';
import { FilterError } from '../filter-error.js';
import { type Draft, isNegative, type PairDraft, settle } from './draft.js';

/** Two values of one field that a single pair should have. */
function refuseSecondValue(drafts: readonly PairDraft[]): void {
  const seen = new Set<string>();
  for (const { condition } of drafts) {
    if (condition.kind !== 'compare' || (condition.operator !== 'eq' && condition.operator !== 'in'))
      continue;
    const { field, operator, at } = condition;
    if (seen.has(field))
      throw new FilterError(
        `a second ${operator}(${field}, …) in one and(…), whose conditions are about one pair, which has one ${field}; ` +
          `put each pair into an and(…) of its own: and(and(eq(${field}, …), …), and(eq(${field}, …), …))`,
        at,
      );
    seen.add(field);
  }
}

/** The conditions of one family inside one `and`. */
function joinFamily(family: PairFamily, drafts: readonly PairDraft[], at: number): readonly Filter[] {
  const isKey = ({ part }: PairDraft) => part === 'key';
  const isPositive = ({ condition }: PairDraft) => condition.kind === 'compare' && !isNegative(condition);
  const hasKey = drafts.some((draft) => isKey(draft) && isPositive(draft));
  const hasValue = drafts.some((draft) => !isKey(draft) && isPositive(draft));
  const isJoined = (draft: PairDraft): boolean => {
    if (isKey(draft)) return isPositive(draft);
    return hasKey || (hasValue && draft.condition.kind === 'compare');
  };
  const joined = drafts.filter(isJoined);
  const others = drafts.filter((draft) => !isJoined(draft)).map(settle);
  if (joined.length === 0) return others;
  refuseSecondValue(joined);
  const conditions = joined.map(({ condition }) => condition);
  const condition =
    conditions.length === 1 && conditions[0] ? conditions[0] : { kind: 'and' as const, conditions, at };
  return [{ kind: 'pair', family, condition, at }, ...others];
}

/**
 * `and`: its conditions on one family are about one pair, provided that there is a positive one to find it
 * by.
 */
export function joinAnd(drafts: readonly Draft[], at: number): Filter {
  const ofPairs = drafts.filter((draft) => draft.kind === 'draft');
  const families = Map.groupBy(ofPairs, ({ family }) => family);
  const conditions = [
    ...drafts.filter((draft) => draft.kind !== 'draft'),
    ...[...families].flatMap(([family, members]) => joinFamily(family, members, at)),
  ];
  return { kind: 'and', conditions, at };
}

/**
 * `or` and `not`: over values of one family they may still belong to a pair; over anything else each is a
 * condition of its own.
 */
export function joinOr(drafts: readonly Draft[], at: number): Draft {
  const [first] = drafts;
  const members = drafts.filter((draft) => draft.kind === 'draft');
  const isOfOnePair =
    first?.kind === 'draft' &&
    members.length === drafts.length &&
    members.every(({ family, part }) => family === first.family && part !== 'key');
  if (!isOfOnePair) return { kind: 'or', conditions: drafts.map(settle), at };
  return {
    ...first,
    condition: { kind: 'or', conditions: members.map(({ condition }) => condition), at },
    at,
  };
}

export function joinNot(draft: Draft, at: number): Draft {
  if (draft.kind !== 'draft' || draft.part === 'key') return { kind: 'not', condition: settle(draft), at };
  return { ...draft, condition: { kind: 'not', condition: draft.condition, at }, at };
}
