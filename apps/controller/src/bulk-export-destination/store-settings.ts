import { createHash } from 'node:crypto';
import { destinationSettings, type ObjectStoreSettings } from '#lib/object-store';
import type { DestinationConfig } from '#lib/resources';

/** Values of a destination's Secret, base64 as they come. */
export type CredentialData = Readonly<Record<string, string>>;

/** Keys that a destination's Secret must have. */
export const REQUIRED_KEYS = ['access_key_id', 'secret_access_key'] as const;

/** How to reach a destination; without credentials it is the environment's own. */
export function storeSettings(
  config: DestinationConfig,
  credentials: CredentialData | undefined,
): ObjectStoreSettings {
  const value = (key: string): string | undefined => {
    const encoded = credentials?.[key];
    return encoded === undefined || encoded === ''
      ? undefined
      : Buffer.from(encoded, 'base64').toString('utf8');
  };
  return destinationSettings(config, {
    accessKeyId: value('access_key_id'),
    secretAccessKey: value('secret_access_key'),
    sessionToken: value('session_token'),
  });
}

/** Changes whenever a test of the destination could come out otherwise. Secrets by version: a hash of them would leak. */
export function testedHash(
  config: DestinationConfig,
  secret: { readonly uid?: string; readonly resourceVersion?: string } | undefined,
  allowPrivateEndpoints: boolean,
): string {
  const { bucketName, prefix, region, endpointUrl, includeBucketInPrefix } = config;
  return createHash('sha256')
    .update(
      JSON.stringify([
        bucketName,
        prefix ?? '',
        region ?? '',
        endpointUrl ?? '',
        includeBucketInPrefix,
        allowPrivateEndpoints,
        secret?.uid ?? '',
        secret?.resourceVersion ?? '',
      ]),
    )
    .digest('hex')
    .slice(0, 32);
}
