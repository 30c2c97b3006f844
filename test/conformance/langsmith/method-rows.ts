import type { ClientMethods, Outcome } from './method-group.js';

/** A method of a client and what becomes of it. */
export interface MethodRow {
  readonly method: string;
  readonly outcome: Outcome;
  readonly feature: string | undefined;
}

/** One row for each method of a client. */
export function rowsOf({ groups }: ClientMethods): readonly MethodRow[] {
  return groups.flatMap(({ methods, outcome, feature }) =>
    Object.keys(methods).map((method) => ({ method, outcome, feature })),
  );
}

/** The sentence of a refusal. */
export function refusalOf({ feature }: MethodRow): string {
  return `${feature} are not supported by this platform`;
}
