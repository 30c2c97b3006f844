import { parseInstant } from '#lib/time';
import type { ExportCursor, ExportFile, ExportIntent } from './export-progress.js';

/** A finished object and the cursor after its last row. */
export interface FinishedFile {
  readonly file: ExportFile;
  readonly cursor: ExportCursor;
}

/**
 * The object that an intent names, if the store has it: undefined for one that another wrote, or that is not
 * the whole file.
 */
export function finishedFile(
  intent: ExportIntent,
  found: { readonly size: number; readonly etag: string; readonly mark?: string } | undefined,
): FinishedFile | undefined {
  const { resource, part, key, mark, rows, bytes, sha256, upTo, from } = intent;
  if (mark === undefined || rows === undefined || bytes === undefined || !upTo) return undefined;
  if (found?.mark !== mark || found.size !== bytes) return undefined;
  const maxStartTime = parseInstant(upTo.startTime, { zone: 'required' });
  if (maxStartTime === undefined) return undefined;
  const minStartTime = from === undefined ? undefined : parseInstant(from, { zone: 'required' });
  return {
    file: {
      part,
      key,
      rows,
      bytes,
      etag: found.etag,
      maxStartTime,
      ...(resource === undefined ? {} : { resource }),
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(minStartTime === undefined ? {} : { minStartTime }),
    },
    cursor: { startTime: maxStartTime, id: upTo.id, traceId: upTo.traceId },
  };
}
