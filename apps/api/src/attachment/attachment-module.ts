import { Module } from '@nestjs/common';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, ATTACHMENT_STORE, CLOCK, LOG, TRACE_STORE } from '../core/tokens.js';
import { AttachmentKeeper } from './attachment-keeper.js';
import type { AttachmentStore } from '../core/attachment-store.js';
import { AttachmentTidying } from './attachment-tidying.js';
import { AttachmentUrls } from './attachment-urls.js';

type Configured = AttachmentStore | undefined;

/** Bytes that belong to runs, in an object store. */
@Module({
  providers: [
    {
      provide: AttachmentKeeper,
      inject: [ATTACHMENT_STORE, TRACE_STORE, CLOCK, LOG],
      useFactory: (store: Configured, { attachments: table }: TraceStore, clock: Clock, log: Logger) =>
        new AttachmentKeeper({ store, table, clock, log }),
    },
    {
      provide: AttachmentUrls,
      inject: [ATTACHMENT_STORE, TRACE_STORE, CLOCK, API_CONFIG],
      useFactory: (
        store: Configured,
        { attachments: table }: TraceStore,
        clock: Clock,
        { publicUrl }: Pick<ApiConfig, 'publicUrl'>,
      ) => new AttachmentUrls({ store, table, clock, publicUrl }),
    },
    {
      provide: AttachmentTidying,
      inject: [ATTACHMENT_STORE, TRACE_STORE, LOG],
      useFactory: (store: Configured, { attachments: table }: TraceStore, log: Logger) =>
        new AttachmentTidying(store, table, log),
    },
  ],
  exports: [AttachmentKeeper, AttachmentUrls],
})
export class AttachmentModule {}
