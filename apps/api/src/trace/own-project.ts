import type { Caller } from '#lib/auth';

/** The one project that a deployment's own key writes into. */
export function ownProject(caller: Caller): string | undefined {
  return caller.scope === 'deployment' ? caller.project : undefined;
}
