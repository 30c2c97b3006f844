import { type Condition, CONDITION, findCondition, REASON, statusReason } from '#lib/resources';

/** What a colour says: fine, busy, wrong, or nothing in particular. */
export type Tone = 'good' | 'busy' | 'bad' | 'quiet';

export const TONE_COLOR: Readonly<Record<Tone, string | undefined>> = {
  good: 'green',
  busy: 'yellow',
  bad: 'red',
  quiet: undefined,
};

/** One word, its tone, and the sentence behind it. */
export interface State {
  readonly word: string;
  readonly tone: Tone;
  readonly message: string;
}

/** The state of anything with a Ready condition: a failure by its reason, else Ready, else what is going on. */
export function stateOf(conditions: readonly Condition[] | undefined, deleting: boolean): State {
  if (deleting) return { word: REASON.deleting, tone: 'busy', message: '' };
  const failed = findCondition(conditions, CONDITION.failed);
  if (failed?.status === 'True') return { word: failed.reason, tone: 'bad', message: failed.message };
  if (findCondition(conditions, CONDITION.completed)?.status === 'True')
    return { word: CONDITION.completed, tone: 'good', message: '' };
  const ready = findCondition(conditions, CONDITION.ready);
  if (ready?.status === 'True') return { word: CONDITION.ready, tone: 'good', message: '' };
  const told = statusReason({ status: { conditions: conditions ?? [] } });
  if (told === undefined) return { word: REASON.pending, tone: 'busy', message: '' };
  return { word: told.reason, tone: 'busy', message: told.message };
}
