import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type EmbeddedObjectStore,
  type FaultHook,
  startObjectStore,
  StoreUserFile,
} from '#lib/embedded-object-store';
import { createLogger } from '#lib/telemetry';
import { type AttachmentStore, openAttachmentStore } from '../core/attachment-store.js';

/** An object store with a bucket for attachments, for tests. */
export interface AttachmentBucket {
  readonly folder: string;
  readonly objects: EmbeddedObjectStore;
  readonly attachments: AttachmentStore;
  stop(): Promise<void>;
}

/** @param fault asked at each request to the store */
export async function startAttachmentBucket(bucket: string, fault?: FaultHook): Promise<AttachmentBucket> {
  const folder = await mkdtemp(join(tmpdir(), 'attachments-'));
  const users = new StoreUserFile(join(folder, 'users.json'));
  // the rights that the platform gives
  const keys = users.ensure('attachments', [
    { bucket, prefix: 'runs', actions: ['write', 'read', 'delete'] },
  ]);
  const objects = await startObjectStore({
    folder,
    host: '127.0.0.1',
    port: 0,
    users,
    buckets: [bucket],
    log: createLogger('test', 'fatal'),
    ...(fault ? { fault } : {}),
  });
  const attachments = openAttachmentStore({
    attachmentBucket: bucket,
    attachmentPrefix: 'runs',
    attachmentEndpoint: objects.endpoint,
    attachmentRegion: undefined,
    attachmentAccessKeyId: keys.accessKeyId,
    attachmentSecretAccessKey: keys.secretAccessKey,
    attachmentUrlKey: undefined,
  });
  if (!attachments) throw new Error('no store of attachments was configured');
  return {
    folder,
    objects,
    attachments,
    async stop() {
      await objects.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
