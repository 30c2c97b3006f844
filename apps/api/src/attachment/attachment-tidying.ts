import { errorText } from '#lib/errors';
import { Tick } from '#lib/nest';
import type { Logger } from '#lib/telemetry';
import type { TraceStore } from '#lib/trace-store';
import type { AttachmentStore } from '../core/attachment-store.js';

const EVERY_TEN_MINUTES = '5-59/10 * * * *';
const AT_ONCE = 100;

/** Deletes objects that no run refers to, and remains of uploads that were not completed. */
export class AttachmentTidying {
  constructor(
    private readonly store: AttachmentStore | undefined,
    private readonly table: Pick<TraceStore['attachments'], 'takeUnused' | 'forget'>,
    private readonly log: Logger,
  ) {}

  @Tick('attachments', EVERY_TEN_MINUTES)
  async tidy(): Promise<void> {
    const { store, table, log } = this;
    if (!store) return;
    for (;;) {
      const { unused, isMore } = await table.takeUnused(AT_ONCE);
      for (const object of unused) {
        const key = store.keyOf(object.tenantId, object.id);
        try {
          await store.objects.abortUploadsOf(store.bucket, key);
          await store.objects.delete(store.bucket, key);
          await table.forget(object);
        } catch (error) {
          // it is offered again; the others would most likely fail alike
          log.error({ key, problem: errorText(error) }, 'deleting attachments failed; retrying later');
          return;
        }
      }
      if (!isMore) return;
    }
  }
}
