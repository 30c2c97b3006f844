import type { Caller } from '#lib/auth';
import type { StoredRun } from '#lib/trace-store';
import type { AttachmentUrls } from '../attachment/attachment-urls.js';
import type { ReadRun, RunFields } from './render-run.js';

/** For whom runs are answered. */
export interface Reader {
  readonly caller: Pick<Caller, 'tenantId'>;
  /** The host that the caller asked. */
  readonly host: string | undefined;
  /** Told how many bytes more are held. */
  readonly hold: (bytes: number) => void;
}

/** Runs with their attachments, where one of the fields needs them. */
export async function withAttachments(
  urls: AttachmentUrls,
  { caller, host, hold }: Reader,
  runs: readonly StoredRun[],
  fields: RunFields,
): Promise<readonly ReadRun[]> {
  if (![...fields.values()].some((field) => 'attached' in field)) return runs;
  const found = await urls.of(caller.tenantId, runs, host, hold);
  return runs.map((run) => ({ ...run, attachments: found.get(run.row.id) }));
}
