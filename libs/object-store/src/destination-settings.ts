import type { DestinationConfig } from '#lib/resources';
import type { ObjectStoreSettings } from './object-store.js';

/** Keys of a store, or whether those of this program's environment may serve. */
export type StoreKeys = Pick<
  ObjectStoreSettings,
  'accessKeyId' | 'secretAccessKey' | 'sessionToken' | 'allowEnvironmentCredentials'
>;

/** Settings to reach a destination with these keys. */
export function destinationSettings(config: DestinationConfig, keys: StoreKeys): ObjectStoreSettings {
  const { endpointUrl, region, includeBucketInPrefix } = config;
  const { serverSideEncryption, kmsKeyId, storageClass, acl } = config;
  const { accessKeyId, secretAccessKey, sessionToken, allowEnvironmentCredentials } = keys;
  return {
    endpoint: endpointUrl,
    region,
    includeBucketInPrefix,
    written: { serverSideEncryption, kmsKeyId, storageClass, acl },
    accessKeyId,
    secretAccessKey,
    sessionToken,
    allowEnvironmentCredentials,
  };
}
