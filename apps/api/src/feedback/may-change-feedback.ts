import type { Caller } from '#lib/auth';

/**
 * True when a key may change feedback. A key of the scope `ingest` gives feedback but does not own any, so it
 * may not change it.
 */
export function mayChangeFeedback({ scope }: Pick<Caller, 'scope'>): boolean {
  return scope !== 'ingest';
}
