/** Result of a pass over one object. The fourth possibility is to throw. */
export type Result =
  | { readonly kind: 'done' }
  | { readonly kind: 'after'; readonly ms: number }
  | { readonly kind: 'wait'; readonly reason: string; readonly ms: number };

const DONE: Result = Object.freeze({ kind: 'done' });

/** Nothing more to do until something changes. */
export function done(): Result {
  return DONE;
}

/** Look again after `ms` (the loop adds up to 10 % of jitter). */
export function after(ms: number): Result {
  return { kind: 'after', ms };
}

/** Something expected does not exist yet; look again after `ms` at the latest. `reason` is a CamelCase word. */
export function wait(reason: string, ms: number): Result {
  return { kind: 'wait', reason, ms };
}
