import type { ShownCondition } from '../feed/snapshot.js';

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

export function findShown(
  conditions: readonly ShownCondition[] | undefined,
  type: string,
): ShownCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** The state of anything with a Ready condition: a failure by its reason, else Ready, else what is going on. */
export function stateOf(conditions: readonly ShownCondition[] | undefined, deleting: boolean): State {
  if (deleting) return { word: 'Deleting', tone: 'busy', message: '' };
  const failed = findShown(conditions, 'Failed');
  if (failed?.status === 'True')
    return { word: failed.reason ?? 'Failed', tone: 'bad', message: failed.message ?? '' };
  const completed = findShown(conditions, 'Completed');
  if (completed?.status === 'True') return { word: 'Completed', tone: 'good', message: '' };
  const ready = findShown(conditions, 'Ready');
  if (ready?.status === 'True') return { word: 'Ready', tone: 'good', message: '' };
  if (ready === undefined) return { word: 'Pending', tone: 'busy', message: '' };
  return { word: ready.reason ?? 'NotReady', tone: 'busy', message: ready.message ?? '' };
}
