import { createHash } from 'node:crypto';
import { destinationSettings, type ObjectStoreSettings } from '#lib/object-store';
import type { DestinationConfig } from '#lib/resources';

/** Values of a destination's Secret, base64 as they come. */
export type CredentialData = Readonly<Record<string, string>>;

/**
 * Settings for reaching a destination. Without credentials those of the environment are used, which the
 * workspace must allow.
 */
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
    allowEnvironmentCredentials: credentials === undefined,
  });
}

/** Inputs of a destination's test beside its own settings. */
export interface TestGround {
  /** Secret by version: a hash of its content would leak it. */
  readonly secret: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  readonly allowPrivateEndpoints: boolean;
  readonly allowEnvironmentCredentials: boolean;
  /** Changes when a person asks for another test. */
  readonly testRequest?: string | undefined;
}

/** Changes whenever a test of the destination could come out otherwise. */
export function testedHash(config: DestinationConfig, ground: TestGround): string {
  const { secret, allowPrivateEndpoints, allowEnvironmentCredentials, testRequest } = ground;
  const { bucketName, prefix, region, endpointUrl, includeBucketInPrefix } = config;
  const { serverSideEncryption, kmsKeyId, storageClass, acl } = config;
  const written = [serverSideEncryption, kmsKeyId, storageClass, acl];
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
        ...(secret === undefined && allowEnvironmentCredentials ? ['environment'] : []),
        ...(written.some((value) => value !== undefined) ? [{ written }] : []),
        ...(testRequest === undefined ? [] : [{ testRequest }]),
      ]),
    )
    .digest('hex')
    .slice(0, 32);
}
