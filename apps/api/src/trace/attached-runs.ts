import type { StoredRun } from '#lib/trace-store';
import type { AttachmentUrls, Reader } from '../attachment/attachment-urls.js';
import type { ReadRun, RunFields } from './render-run.js';

/** Runs with their attachments, if one of the fields needs them. */
export async function withAttachments(
  urls: AttachmentUrls,
  reader: Reader,
  runs: readonly StoredRun[],
  fields: RunFields,
): Promise<readonly ReadRun[]> {
  if (![...fields.values()].some((field) => 'attached' in field)) return runs;
  const found = await urls.of(reader, runs);
  return runs.map((run) => ({ ...run, attachments: found.get(run.row.id) }));
}
