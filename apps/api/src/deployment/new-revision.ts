import { randomUUID } from 'node:crypto';
import type { Clock } from '#lib/time';
import type { NewRevision } from './deployment-spec.js';

/** A request for a revision: answers name it before the controller has made it. */
export function newRevision(clock: Pick<Clock, 'now'>): NewRevision {
  return { id: randomUUID(), at: clock.now().toISOString() };
}

/** Name of the Secret with the variables of a revision that is requested. */
export function secretNameOf(deployment: string, revisionId: string): string {
  return `${deployment}-secrets-${revisionId.slice(0, 8)}`;
}
