import type { Logger } from '#lib/telemetry';
import type { ChangeLog, ChangeRecord, LoadedLog } from './change-log.js';
import type { JsonCipher } from './json-cipher.js';

/** Seals with the first key what a former one has sealed: current objects and past changes in one statement. */
export async function reseal(
  loaded: LoadedLog,
  { log, cipher, logger }: { readonly log: ChangeLog; readonly cipher: JsonCipher; readonly logger: Logger },
): Promise<void> {
  if (!cipher.hasFormerKeys) return;
  const resealed = (records: readonly ChangeRecord[]): readonly ChangeRecord[] =>
    records.flatMap((record) => {
      const object = cipher.reseal(record, record.object);
      return object === undefined ? [] : [{ ...record, object }];
    });
  const [objects, changes] = [resealed(loaded.objects), resealed(loaded.changes)];
  if (objects.length + changes.length > 0) await log.replace(objects, changes);
  logger.info(
    { secrets: objects.length },
    'every Secret is sealed with the first key of encryption.key; the other keys can be removed from it',
  );
}
