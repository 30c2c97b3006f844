import { PublicError } from '#lib/errors';
import { isJsonObject, type JsonObject, parseJson } from '#lib/json';
import { isUuid } from '#lib/resources';
import { parseInstant } from '#lib/time';
import type { AsOf, Dataset, DatasetDetails, DatasetVersion, TraceStore } from '#lib/trace-store';
import { invalid } from '../wire/request-pipe.js';
import type {
  CreateDatasetRequest,
  DatasetsQuery,
  SplitRequest,
  TagRequest,
  UpdateDatasetRequest,
  VersionQuery,
} from './dataset-request.js';
import { wrongField } from '../wire/request-pipe.js';

/** A version of a dataset as clients name it: by a time, or by a tag. */
export function parseAsOf(text: string | undefined): AsOf | undefined {
  if (text === undefined) return undefined;
  const time = parseInstant(text, { zone: 'optional' });
  return time === undefined ? { kind: 'tag', tag: text } : { kind: 'time', time };
}

/** @throws PublicError invalid */
export function requireUuids(loc: readonly string[], ids: readonly string[] | undefined): void {
  const at = ids?.findIndex((id) => !isUuid(id)) ?? -1;
  if (at >= 0)
    throw invalid([{ loc: [...loc, at], msg: 'Input should be a valid UUID', type: 'uuid_parsing' }]);
}

/** @throws PublicError invalid */
export function parseMetadata(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = parseJson(text);
    if (isJsonObject(value)) return value;
  } catch {
    // refused below
  }
  throw invalid([{ loc: ['query', 'metadata'], msg: 'Input should be a JSON object', type: 'json_invalid' }]);
}

/** Datasets of a tenant, as requests ask for them. */
export class DatasetRequests {
  constructor(private readonly store: Pick<TraceStore, 'datasets' | 'datasetVersions'>) {}

  async create(tenantId: string, request: CreateDatasetRequest): Promise<Dataset> {
    const { name, id, data_type: dataType, extra, ...rest } = request;
    const metadata = extra?.['metadata'];
    if (metadata !== undefined && metadata !== null && !isJsonObject(metadata))
      throw invalid([
        { loc: ['body', 'extra', 'metadata'], msg: 'Input should be a valid object', type: 'dict_type' },
      ]);
    return this.store.datasets.create(tenantId, {
      name,
      id: id?.toLowerCase(),
      dataType: dataType ?? 'kv',
      ...detailsOf({ ...rest, metadata }),
    });
  }

  async list(tenantId: string, query: DatasetsQuery): Promise<readonly Dataset[]> {
    requireUuids(['query', 'id'], query.id);
    return this.store.datasets.list(tenantId, {
      ids: query.id,
      name: query.name,
      nameContains: query.name_contains,
      dataTypes: query.data_type,
      metadata: parseMetadata(query.metadata),
      limit: query.limit,
      offset: query.offset,
    });
  }

  /** @throws PublicError not_found */
  async get(tenantId: string, id: string): Promise<Dataset> {
    return found(await this.store.datasets.find(tenantId, id), id);
  }

  /** @throws PublicError not_found; conflict when another dataset has the name */
  async update(tenantId: string, id: string, request: UpdateDatasetRequest): Promise<Dataset> {
    const change = { ...detailsOf(request), name: request.name ?? undefined };
    return found(await this.store.datasets.update(tenantId, id, change), id);
  }

  /** @throws PublicError not_found */
  async delete(tenantId: string, id: string): Promise<void> {
    if (!(await this.store.datasets.delete(tenantId, id))) found(undefined, id);
  }

  /** @throws PublicError not_found, invalid */
  async version(tenantId: string, id: string, { as_of: asOf, tag }: VersionQuery): Promise<DatasetVersion> {
    if ((asOf === undefined) === (tag === undefined))
      throw wrongField(['query'], 'One of as_of and tag should be given, and not both');
    const wanted = tag === undefined ? parseAsOf(asOf) : ({ kind: 'tag', tag } as const);
    return this.store.datasetVersions.get(tenantId, id, wanted ?? { kind: 'tag', tag: 'latest' });
  }

  /** @throws PublicError not_found, invalid, forbidden */
  async tag(tenantId: string, id: string, { as_of: asOf, tag }: TagRequest): Promise<DatasetVersion> {
    const isTime = parseInstant(tag, { zone: 'optional' }) !== undefined;
    if (tag === 'latest' || isTime)
      throw wrongField(
        ['body', 'tag'],
        isTime ? 'A tag cannot be a time' : '`latest` is always the newest version',
      );
    const time = parseInstant(asOf, { zone: 'optional' }) ?? 0n;
    return this.store.datasetVersions.tag(tenantId, id, time, tag);
  }

  /** @throws PublicError not_found, invalid */
  async moveSplit(tenantId: string, id: string, request: SplitRequest): Promise<readonly string[]> {
    const { split_name: split, examples, remove } = request;
    requireUuids(['body', 'examples'], examples);
    const ids = [...new Set(examples.map((one) => one.toLowerCase()))];
    await this.store.datasetVersions.moveSplit(tenantId, id, { split, ids, isRemoved: remove === true });
    return this.store.datasetVersions.splits(tenantId, id);
  }
}

function found(dataset: Dataset | undefined, id: string): Dataset {
  if (dataset) return dataset;
  throw new PublicError('not_found', `Dataset ${id} not found`);
}

type AskedDetails = Pick<
  UpdateDatasetRequest,
  'description' | 'inputs_schema_definition' | 'outputs_schema_definition'
> & { readonly metadata?: object | null | undefined };

/** Details of a request; clients send null for a member that they leave out. */
function detailsOf(request: AskedDetails): DatasetDetails {
  const text = (value: object | null | undefined) => (value ? JSON.stringify(value) : undefined);
  return {
    description: request.description ?? undefined,
    inputsSchema: text(request.inputs_schema_definition),
    outputsSchema: text(request.outputs_schema_definition),
    metadata: text(request.metadata),
  };
}
