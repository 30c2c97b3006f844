import { randomBytes } from 'node:crypto';
import { readJson, writeJson } from './json-file.js';

/** How the embedded object store is reached. */
export interface StoreCredentials {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** `credentials.json`: what a person or a script needs to use the platform. */
export interface PlatformCredentials {
  readonly restUrl: string;
  readonly apiKey: string;
  readonly tenantId: string;
  readonly kubeconfig: string;
  readonly objectStore: StoreCredentials;
}

export function readCredentials(path: string): PlatformCredentials | undefined {
  return readJson<PlatformCredentials>(path);
}

export function writeCredentials(path: string, credentials: PlatformCredentials): void {
  writeJson(path, credentials);
}

/** New keys for the embedded object store, in the shape that S3 clients expect. */
export function newStoreKeys(): Pick<StoreCredentials, 'accessKeyId' | 'secretAccessKey'> {
  return {
    accessKeyId: `AGENTPLANE${randomBytes(5).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(30).toString('base64url'),
  };
}
