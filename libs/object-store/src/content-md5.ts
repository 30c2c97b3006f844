import { createHash } from 'node:crypto';

/**
 * The value of `Content-MD5`. Buckets with Object Lock refuse writes without it or a newer checksum, and this is the one
 * that every store knows; it also finds bytes that were changed on their way.
 */
export function md5Of(body: Buffer): string {
  return createHash('md5').update(body).digest('base64');
}
