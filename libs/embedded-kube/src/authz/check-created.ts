import type { RequestContext } from '../http/request-context.js';
import type { Authorizer } from './authorizer.js';
import { refusal } from './refusal.js';

/** An apply of what does not exist makes it, for which the right to patch is not enough. Throws 403. */
export function checkCreatedByApply({ info, user }: RequestContext, authorizer: Authorizer): void {
  if (info.verb !== 'patch') return;
  const access = { ...info, user, verb: 'create' };
  const { allowed, reason } = authorizer.decide(access);
  if (!allowed) throw refusal(access, reason);
}
