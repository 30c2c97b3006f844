import { createHash } from 'node:crypto';

/**
 * What a server knows of the token by which its listener asks whether it is idle: who reads its environment, or the spec of
 * its pod, cannot ask with it. 64 hex digits.
 */
export function digestIdleToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
