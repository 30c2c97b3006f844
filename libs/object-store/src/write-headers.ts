import type { WriteSettings } from './object-store.js';

/** Headers of the requests that make an object: a put, and the start of an upload in parts. */
export function writeHeaders(written: WriteSettings = {}): Readonly<Record<string, string>> {
  const headers = {
    'x-amz-server-side-encryption': written.serverSideEncryption,
    'x-amz-server-side-encryption-aws-kms-key-id': written.kmsKeyId,
    'x-amz-storage-class': written.storageClass,
    'x-amz-acl': written.acl,
  };
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
