import type { Caller } from '#lib/auth';

/** A key of the scope `ingest` gives feedback. What is given, by whomever, is not its own: changing it is closed to it. */
export function mayChangeFeedback({ scope }: Pick<Caller, 'scope'>): boolean {
  return scope !== 'ingest';
}
