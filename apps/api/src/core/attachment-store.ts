import { hkdfSync } from 'node:crypto';
import {
  openObjectStore,
  type ObjectStore,
  platformStoreSettings,
  type PlatformStoreConfig,
} from '#lib/object-store';
import type { ApiConfig } from '../config.js';

/** Object store of the attachments. */
export interface AttachmentStore {
  /** Client for writing and deleting. */
  readonly objects: ObjectStore;
  /** Client for reading, with its own connections: downloads take none from writers. */
  readonly downloads: ObjectStore;
  readonly bucket: string;
  /** Key of an object in the bucket. */
  keyOf(tenantId: string, objectId: string): string;
  /** Key that signs URLs of downloads. */
  readonly urlKey: Buffer;
  /** Key that signs URLs of uploads; a signed download is none. */
  readonly uploadKey: Buffer;
}

export type AttachmentConfig = PlatformStoreConfig & Pick<ApiConfig, 'attachmentPrefix' | 'attachmentUrlKey'>;

/** Attachments are refused after so many milliseconds of silence, not after the half minute of an export. */
const TIMEOUT_MS = 10_000;
const ATTEMPTS = 3;
const KEY_BYTES = 32;

/**
 * The store that the settings name; undefined without a bucket.
 * @throws Error when no key for URLs can be had: all replicas must have the same
 */
export function openAttachmentStore(config: AttachmentConfig): AttachmentStore | undefined {
  const { attachmentBucket: bucket, attachmentSecretAccessKey: secret, attachmentUrlKey: urlKey } = config;
  if (bucket === undefined) return undefined;
  const signing = urlKey ?? secret;
  if (signing === undefined)
    throw new Error(
      'AGENTPLANE_ATTACHMENT_URL_KEY is missing: without AGENTPLANE_ATTACHMENT_SECRET_ACCESS_KEY there is nothing to sign the URLs of attachments with; set it to a long random text, the same for all replicas',
    );
  const prefix = config.attachmentPrefix.replace(/^\/+|\/+$/g, '');
  const settings = { ...platformStoreSettings(config), timeoutMs: TIMEOUT_MS, attempts: ATTEMPTS };
  return {
    objects: openObjectStore(settings),
    downloads: openObjectStore(settings),
    bucket,
    keyOf: (tenantId, objectId) => `${prefix === '' ? '' : `${prefix}/`}${tenantId}/${objectId}`,
    urlKey: derivedKey(signing, 'agentplane urls of attachments'),
    uploadKey: derivedKey(signing, 'agentplane urls of uploads'),
  };
}

function derivedKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, KEY_BYTES));
}
