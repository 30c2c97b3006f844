import { randomBytes } from 'node:crypto';

/** A new operator key; the prefix is how the REST interface knows it from API keys. */
export function newOperatorKey(): string {
  return `apo_${randomBytes(30).toString('base64url')}`;
}
