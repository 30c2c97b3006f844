import { createHash } from 'node:crypto';

/**
 * Digest by which a server recognises the token of its listener's idle requests: a reader of its environment,
 * or of the spec of its pod, cannot ask with it. 64 hex digits.
 */
export function digestIdleToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
