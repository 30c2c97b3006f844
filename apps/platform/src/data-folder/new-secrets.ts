import { randomBytes } from 'node:crypto';
import type { StoreCredentials } from '#lib/data-folder';

/** New keys for the embedded object store, in the shape that S3 clients expect. */
export function newStoreKeys(): Pick<StoreCredentials, 'accessKeyId' | 'secretAccessKey'> {
  return {
    accessKeyId: `AGENTPLANE${randomBytes(5).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(30).toString('base64url'),
  };
}

/** A new operator key; the prefix is how the REST interface knows it from API keys. */
export function newOperatorKey(): string {
  return `apo_${randomBytes(30).toString('base64url')}`;
}
