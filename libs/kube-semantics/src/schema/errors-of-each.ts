import type { FieldError } from './field-error.js';

/**
 * Maximum number of errors, more than people read. A body of 3 MB can have a million mistakes, whose
 * sentences would fill all memory.
 */
export const MOST_ERRORS = 1_000;

/** The mistakes of all items, in their order; after the first thousand the rest is not looked at. */
export function errorsOfEach<T>(
  list: Iterable<T>,
  check: (item: T, index: number) => readonly FieldError[],
): FieldError[] {
  const errors: FieldError[] = [];
  let index = 0;
  for (const item of list) {
    for (const error of check(item, index++)) errors.push(error);
    if (errors.length >= MOST_ERRORS) break;
  }
  return errors;
}
