import type { Place } from '#lib/admission';
import { PublicError } from '#lib/errors';
import type { ExampleRow, ExampleSearch, TraceStore } from '#lib/trace-store';
import type { AttachmentUrls } from '../attachment/attachment-urls.js';
import { parseAsOf, parseMetadata, requireUuids } from './dataset-requests.js';
import { type ExamplesQuery, payloadsOf, renderExample, selectedFields } from './example.js';
import { wrongField } from '../wire/request-pipe.js';

/** Payloads that are held at a time, but for a single example with more. */
const MAX_PIECE_BYTES = 16 * 1024 * 1024;

/** Examples of an answer with their fields. */
export interface FoundExamples {
  readonly rows: readonly ExampleRow[];
  readonly fields: readonly string[];
}

/** Reader that examples are read for. */
export interface ExampleReader {
  readonly caller: { readonly tenantId: string };
  /**
   * Origin that the caller used, from `askedOrigin`: URLs of attachments begin with it unless the settings
   * give another.
   */
  readonly origin: string;
  readonly account: Place;
}

/** Examples of a tenant, as requests ask for them. */
export class ExampleLists {
  constructor(
    private readonly store: Pick<TraceStore, 'examples'>,
    private readonly urls: Pick<AttachmentUrls, 'ofExamples'>,
  ) {}

  /** @throws PublicError not_found, invalid, bad_request */
  async find(tenantId: string, query: ExamplesQuery): Promise<FoundExamples> {
    const { dataset: datasetId, id: ids, splits, metadata, filter, limit, offset } = query;
    requireUuids(['query', 'id'], ids);
    const asOf = parseAsOf(query.as_of);
    if (filter !== undefined)
      throw wrongField(
        ['query', 'filter'],
        'filters of examples are not supported; use metadata, splits and id',
      );
    if (datasetId === undefined && ids === undefined)
      throw wrongField(['query', 'dataset'], 'Either dataset or id should be given');
    if (datasetId === undefined && asOf?.kind === 'tag')
      throw wrongField(['query', 'as_of'], 'A tag is that of a dataset: give dataset, too');
    parseMetadata(metadata);
    const search: ExampleSearch = {
      datasetId: datasetId?.toLowerCase(),
      ids,
      asOf,
      splits,
      metadata,
      limit,
      offset,
    };
    const rows = await this.store.examples.search(tenantId, search);
    return { rows, fields: selectedFields(query.select, query.exclude_default_fields === true) };
  }

  /** @throws PublicError not_found */
  async get(tenantId: string, id: string, asOf: string | undefined): Promise<FoundExamples> {
    const wanted = { ids: [id], limit: 1, offset: 0 };
    const version = parseAsOf(asOf);
    const isTag = version?.kind === 'tag';
    // the example as it is now names the dataset that the tag belongs to
    const [now] = isTag ? await this.store.examples.search(tenantId, wanted) : [];
    const rows =
      isTag && !now
        ? []
        : await this.store.examples.search(tenantId, { ...wanted, asOf: version, datasetId: now?.datasetId });
    if (rows.length === 0) throw new PublicError('not_found', `Example with ID ${id} not found`);
    return { rows, fields: selectedFields(undefined, false) };
  }

  /** The examples in their order, some payloads at a time. */
  async *pieces(
    { caller: { tenantId }, origin, account }: ExampleReader,
    { rows, fields }: FoundExamples,
  ): AsyncGenerator<readonly Buffer[], void, void> {
    const wanted = payloadsOf(fields);
    const reader = { caller: { tenantId }, origin, hold: (bytes: number) => account.hold(bytes) };
    for (let from = 0; from < rows.length;) {
      const to = endOfPiece(rows, from);
      const some = rows.slice(from, to);
      account.keep(0);
      account.hold(some.reduce((sum, row) => sum + row.bytes, 0));
      const payloads = await this.store.examples.payloads(tenantId, some, wanted);
      const links = fields.includes('attachment_urls') ? await this.urls.ofExamples(reader, some) : undefined;
      yield some.map((row, n) => renderExample(row, { ...payloads[n], links: links?.get(row.id) }, fields));
      from = to;
    }
  }
}

function endOfPiece(rows: readonly ExampleRow[], from: number): number {
  let bytes = 0;
  for (let at = from; at < rows.length; at++) {
    bytes += rows[at]?.bytes ?? 0;
    if (at > from && bytes > MAX_PIECE_BYTES) return at;
  }
  return rows.length;
}
