import { CONDITION } from '#lib/resources';

/** The conditions of a revision that the listener owns. */
export const LISTENER_CONDITIONS: readonly string[] = [
  CONDITION.workloadsReady,
  CONDITION.active,
  CONDITION.failed,
  CONDITION.superseded,
  CONDITION.ready,
];
