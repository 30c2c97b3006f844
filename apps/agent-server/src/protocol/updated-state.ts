import { parseShort, type JsonObject } from '#lib/json';

/** Limit of a checkpoint's names. */
const MAX_HEAD_CHARS = 1024 * 1024;

/** State after a change from outside. */
export interface UpdatedState {
  readonly checkpoint: JsonObject | null;
  readonly hasNext: boolean;
  /** JSON text of all values. */
  readonly values: string;
  /** JSON text of lists of questions, by the tasks that ask. */
  readonly interrupts: string;
}

/** Large texts are on separate lines, so that printing them needs no parsing: JSON has no line ends. */
export function renderUpdated({ values, interrupts, ...head }: UpdatedState): string {
  return `${JSON.stringify(head)}\n${interrupts}\n${values}`;
}

export function parseUpdated(text: string): UpdatedState {
  const headEnd = text.indexOf('\n');
  const interruptsEnd = text.indexOf('\n', headEnd + 1);
  const head = parseShort(text.slice(0, headEnd), MAX_HEAD_CHARS) as Pick<
    UpdatedState,
    'checkpoint' | 'hasNext'
  >;
  return {
    ...head,
    interrupts: text.slice(headEnd + 1, interruptsEnd),
    values: text.slice(interruptsEnd + 1),
  };
}
