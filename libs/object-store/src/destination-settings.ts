import type { DestinationConfig } from '#lib/resources';
import type { ObjectStoreSettings } from './object-store.js';

/** Keys of a store; absent: the environment's own. */
export type StoreKeys = Pick<ObjectStoreSettings, 'accessKeyId' | 'secretAccessKey' | 'sessionToken'>;

/** How to reach a destination as these keys. */
export function destinationSettings(config: DestinationConfig, keys: StoreKeys): ObjectStoreSettings {
  const { endpointUrl, region, includeBucketInPrefix } = config;
  const { accessKeyId, secretAccessKey, sessionToken } = keys;
  return { endpoint: endpointUrl, region, includeBucketInPrefix, accessKeyId, secretAccessKey, sessionToken };
}
