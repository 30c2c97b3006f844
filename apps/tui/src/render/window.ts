/** The part of a list that is on the screen. */
export interface ListWindow {
  readonly start: number;
  readonly end: number;
}

/** `height` places of a list of `length`, around the selected one, or the first ones when none of them is selected. */
export function windowOf(length: number, height: number, selected: number): ListWindow {
  const places = Math.max(0, Math.min(length, height));
  const wanted = selected - Math.floor(places / 2);
  const start = Math.max(0, Math.min(length - places, wanted));
  return { start, end: start + places };
}
