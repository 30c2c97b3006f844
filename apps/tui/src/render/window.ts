/** The part of a list that is on the screen. */
export interface ListWindow {
  readonly start: number;
  readonly end: number;
}

/**
 * `height` places of a list of `length` with the selected one among them: where they were, moved no further than it
 * takes, so that a step to the next row changes two lines and not all.
 * @param before first place of the former window @param selected -1 for none
 */
export function windowOf(length: number, height: number, selected: number, before = 0): ListWindow {
  const places = Math.max(0, Math.min(length, height));
  const wanted = selected < 0 ? before : Math.min(selected, Math.max(before, selected - places + 1));
  const start = Math.max(0, Math.min(length - places, wanted));
  return { start, end: start + places };
}
