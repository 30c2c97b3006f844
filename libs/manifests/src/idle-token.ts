import { createHmac } from 'node:crypto';
import type { AgentRevision } from '#lib/resources';

/**
 * The token with which a listener asks the pods of a revision if they may be stopped. Pods know only its
 * digest, so that neither their own code nor a reader of their spec can ask. It is not stored: the key and
 * the revision give it again.
 * @param key of the listener, from its Secret
 */
export function idleToken({ metadata: { uid = '' } }: AgentRevision, key: string): string {
  return createHmac('sha256', key).update(uid).digest('hex');
}
