import { type Config, optionalText } from '#lib/config';
import type { ObjectStoreSettings } from './object-store.js';

/** Settings of the platform's own object store, the same in every program that reads or writes there. */
export const PLATFORM_STORE_FIELDS = {
  attachmentBucket: optionalText(
    'AGENTPLANE_ATTACHMENT_BUCKET',
    'bucket for attachments of runs, and for the lake; absent: attachments are not kept',
  ),
  attachmentEndpoint: optionalText(
    'AGENTPLANE_ATTACHMENT_ENDPOINT',
    'address of the object store for attachments; absent: AWS',
  ),
  attachmentRegion: optionalText('AGENTPLANE_ATTACHMENT_REGION', 'region of the bucket for attachments'),
  attachmentAccessKeyId: optionalText(
    'AGENTPLANE_ATTACHMENT_ACCESS_KEY_ID',
    'access key for attachments; absent: the environment or the role of the machine',
  ),
  attachmentSecretAccessKey: optionalText(
    'AGENTPLANE_ATTACHMENT_SECRET_ACCESS_KEY',
    'secret key for attachments; URLs of attachments are signed with a key derived from it',
    { secret: true },
  ),
};

/** Values of the settings of the platform's own object store. */
export type PlatformStoreConfig = Config<typeof PLATFORM_STORE_FIELDS>;

/** Settings to reach the platform's own object store. Its operator may name any address. */
export function platformStoreSettings(config: PlatformStoreConfig): ObjectStoreSettings {
  return {
    endpoint: config.attachmentEndpoint,
    region: config.attachmentRegion,
    accessKeyId: config.attachmentAccessKeyId,
    secretAccessKey: config.attachmentSecretAccessKey,
    allowEnvironmentCredentials: true,
    allowPrivateEndpoints: true,
  };
}
