import { Readable } from 'node:stream';
import type { Place } from '#lib/admission';
import { PublicError } from '#lib/errors';
import { isUuid } from '#lib/resources';
import { formatInstant, parseInstant } from '#lib/time';
import { type RunCursor, type RunPage, SEARCH_PARTS, type StoredRun } from '#lib/trace-store';
import type { AttachmentUrls, Reader } from '../attachment/attachment-urls.js';
import { printRun, type ReadRun, type RunFields } from './render-run.js';

/** Start of the next page, in the form that clients hand back. */
export function renderCursor({ startTime, id, traceId, part }: RunCursor): string {
  const words = [formatInstant(startTime), id, traceId, ...(part ? [part] : [])];
  return Buffer.from(words.join(' ')).toString('base64url');
}

/** Member of a page that ended before it was full. */
export function lookedTo({ lookedTo: time }: RunPage): { readonly looked_to?: string } {
  return time === undefined ? {} : { looked_to: formatInstant(time) };
}

/** @throws PublicError bad_request */
export function parseCursor(text: string): RunCursor {
  const [time = '', id = '', traceId = '', name, ...more] = Buffer.from(text, 'base64url')
    .toString()
    .split(' ');
  const startTime = parseInstant(time, { zone: 'required' });
  const part = SEARCH_PARTS.find((one) => one === name);
  if (startTime === undefined || !isUuid(id) || !isUuid(traceId) || name !== part || more.length > 0)
    throw new PublicError('bad_request', 'cursor is none that a page of this list has answered');
  return { startTime, id, traceId, part };
}

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

const COMMA = Buffer.from(',');

/** Runs on the wire, with commas between them, in parts that are copied once, when the caller puts them together. */
async function printedRuns(runs: readonly ReadRun[], fields: RunFields): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  for (const run of runs) {
    if (parts.length > 0) parts.push(COMMA);
    await printRun(run, fields, parts);
  }
  return parts;
}

/** Runs on the wire, with commas between them. */
export async function rendered(runs: readonly ReadRun[], fields: RunFields): Promise<Buffer> {
  return Buffer.concat(await printedRuns(runs, fields));
}

/** The same between two texts. */
export async function renderedWithin(
  before: string,
  [runs, fields]: readonly [readonly ReadRun[], RunFields],
  after: string,
): Promise<Buffer> {
  return Buffer.concat([Buffer.from(before), ...(await printedRuns(runs, fields)), Buffer.from(after)]);
}

/**
 * An answer with all runs of a list: it is read in pages, of which one is held at a time.
 * @param page answers the page at a cursor, the first one without
 * @param complete gives runs the data that their fields need beside their rows
 * @throws errors of the request, before the answer begins
 */
export async function allRuns(
  page: (cursor?: string) => Promise<RunPage>,
  account: Pick<Place, 'keep'>,
  fields: RunFields,
  complete: (runs: readonly StoredRun[]) => Promise<readonly ReadRun[]>,
): Promise<Readable> {
  const first = await page();
  const parts = async function* (): AsyncGenerator<Buffer> {
    let found = first;
    let before = '{"items":[';
    for (;;) {
      // runs may be deleted meanwhile
      if (found.runs.length > 0) {
        yield await renderedWithin(before, [await complete(found.runs), fields], '');
        before = ',';
      }
      if (!found.next) break;
      account.keep(0);
      found = await page(renderCursor(found.next));
    }
    if (before !== ',') yield Buffer.from(before);
    yield Buffer.from(']}');
  };
  return Readable.from(parts(), { objectMode: false });
}
