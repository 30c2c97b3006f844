import { CONDITION, type Secret } from '#lib/resources';

/** The conditions of a revision that the listener owns. */
export const LISTENER_CONDITIONS: readonly string[] = [
  CONDITION.workloadsReady,
  CONDITION.active,
  CONDITION.failed,
  CONDITION.superseded,
  CONDITION.ready,
];

/** An event that people see on a resource. */
export interface HubEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The Secrets that the pods of a revision name. */
export interface RevisionSecrets {
  /** Secret of this revision only. */
  readonly ofRevision: Secret;
  /** Secrets of every revision of the deployment. */
  readonly ofDeployment: readonly Secret[];
}
