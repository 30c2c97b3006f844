import { createHash } from 'node:crypto';
import { destinationSettings, keysOfSecret, type ObjectStoreSettings } from '#lib/object-store';
import type { DestinationConfig, Secret, Workspace } from '#lib/resources';

/** Keys that a destination's Secret must have. */
const REQUIRED_KEYS = ['access_key_id', 'secret_access_key'] as const;

/**
 * Text that no value may contain. Two of the values are sent in headers; some stores let a person choose the
 * third.
 */
const REFUSED_TEXT: Readonly<Record<string, RegExp>> = {
  access_key_id: /[^\x21-\x7e]/,
  secret_access_key: /^\s|\s$|\p{Cc}/u,
  session_token: /[^\x21-\x7e]/,
};

/** Describes why the Secret of a destination cannot be used; undefined when it can. */
export function secretProblem(name: string, secret: Secret | undefined): string | undefined {
  if (!secret) return `Secret ${name} does not exist in this namespace`;
  const missing = REQUIRED_KEYS.filter((key) => !secret.data?.[key]);
  if (missing.length > 0) return `Secret ${name} has no ${missing.join(' and no ')}`;
  const unusable = Object.entries(REFUSED_TEXT).find(([key, refused]) =>
    refused.test(Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8')),
  );
  if (!unusable) return undefined;
  return (
    `${unusable[0]} of Secret ${name} contains a line break, a blank or another character that no key has; ` +
    'store the value without it'
  );
}

/**
 * Reason why a destination without a Secret cannot use the platform's own credentials; undefined when it can.
 */
export function environmentProblem(workspace: Workspace | undefined): string | undefined {
  if (workspace?.spec.allowEnvironmentCredentials === true) return undefined;
  const name = workspace?.metadata.name ?? 'of this namespace';
  return (
    'the destination names no Secret, and its workspace may not use the credentials of the platform; ' +
    `set spec.credentialsSecretRef, or spec.allowEnvironmentCredentials of Workspace ${name}`
  );
}

/** Values of a destination's Secret, base64 as they come. */
export type CredentialData = Readonly<Record<string, string>>;

/**
 * Settings for reaching a destination. Without credentials those of the environment are used, which the
 * workspace must allow.
 */
export function storeSettings(
  config: DestinationConfig,
  credentials: CredentialData | undefined,
  tenantId: string,
): ObjectStoreSettings {
  const decoded = Object.entries(credentials ?? {}).flatMap(([key, encoded]): [string, string][] =>
    encoded === '' ? [] : [[key, Buffer.from(encoded, 'base64').toString('utf8')]],
  );
  return destinationSettings(config, keysOfSecret(credentials && new Map(decoded), true), tenantId);
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
  const { serverSideEncryption, kmsKeyId, storageClass, acl, awsRoleArn } = config;
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
        ...(awsRoleArn === undefined ? [] : [{ awsRoleArn }]),
        ...(testRequest === undefined ? [] : [{ testRequest }]),
      ]),
    )
    .digest('hex')
    .slice(0, 32);
}
