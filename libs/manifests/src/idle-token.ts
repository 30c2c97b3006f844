import { createHmac } from 'node:crypto';
import type { AgentRevision } from '#lib/resources';

/**
 * The token with which a listener asks the pods of a revision whether they may be stopped. Pods know its digest alone, so
 * that neither their own code nor who reads their spec can ask. It needs no record: the key and the revision give it again.
 * @param key of the listener, from its Secret
 */
export function idleToken({ metadata: { uid = '' } }: AgentRevision, key: string): string {
  return createHmac('sha256', key).update(uid).digest('hex');
}
