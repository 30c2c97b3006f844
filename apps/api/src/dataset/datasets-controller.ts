import { Body, Inject, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { formatInstant } from '#lib/time';
import { DATA_TYPES, type Dataset, type DatasetVersion, type TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { StoredAnswer } from '../trace/run-answer.js';
import { Resource } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { Get, Post, Patch, Delete, Put } from '../wire/route.js';
import { READ, WORKSPACE } from '../wire/route-access.js';
import {
  Answered,
  FLAG,
  JSON_VALUE,
  orNull,
  TEXT,
  textList,
  TIME,
  UUID,
  WHOLE,
  words,
} from '../wire/shape.js';
import { jsonListOf, jsonWith } from '../wire/stored-json.js';
import {
  AsOfQuery,
  CreateDatasetRequest,
  DatasetQuery,
  DatasetsQuery,
  DifferenceQuery,
  SplitRequest,
  TagRequest,
  UpdateDatasetRequest,
  VersionQuery,
  VersionsQuery,
} from './dataset-request.js';
import { DatasetRequests, parseAsOf } from './dataset-requests.js';

/** A dataset on the wire. */
class DatasetAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly tenant_id: string;
  @Answered(TEXT) readonly name: string;
  @Answered(orNull(TEXT)) readonly description: string | null;
  @Answered(words(DATA_TYPES)) readonly data_type: string;
  @Answered(JSON_VALUE) readonly inputs_schema_definition: unknown;
  @Answered(JSON_VALUE) readonly outputs_schema_definition: unknown;
  @Answered(JSON_VALUE) readonly metadata: unknown;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME, 'When it or one of its examples was changed') readonly modified_at: string;
  @Answered(WHOLE) readonly example_count: number;
  @Answered(WHOLE, 'Experiments') readonly session_count: number;
  @Answered(orNull(TIME), 'Of its experiments') readonly last_session_start_time: string | null;
  @Answered(FLAG) readonly externally_managed: boolean;
  @Answered(JSON_VALUE) readonly transformations: null;
}

class DatasetVersionAnswer {
  @Answered(TIME) readonly as_of: string;
  @Answered(textList(), '`latest` among them for the newest one') readonly tags: readonly string[];
}

/** Ids of examples. */
class DifferenceAnswer {
  @Answered(textList('uuid')) readonly examples_modified: readonly string[];
  @Answered(textList('uuid')) readonly examples_added: readonly string[];
  @Answered(textList('uuid')) readonly examples_removed: readonly string[];
}

const TAKEN = 'There is another one of that name';

/** JSON text of a {@link DatasetAnswer}. */
function renderDataset(dataset: Dataset): string {
  const { lastSessionStartTime: last } = dataset;
  const answer = {
    id: dataset.id,
    tenant_id: dataset.tenantId,
    name: dataset.name,
    description: dataset.description ?? null,
    data_type: dataset.dataType,
    created_at: formatInstant(dataset.createdAt),
    modified_at: formatInstant(dataset.modifiedAt),
    example_count: dataset.exampleCount,
    session_count: dataset.sessionCount,
    last_session_start_time: last === undefined ? null : formatInstant(last),
    externally_managed: false,
    transformations: null,
  };
  return jsonWith(answer, {
    inputs_schema_definition: dataset.inputsSchema,
    outputs_schema_definition: dataset.outputsSchema,
    metadata: dataset.metadata,
  });
}

function renderVersion({ asOf, tags }: DatasetVersion): DatasetVersionAnswer {
  return { as_of: formatInstant(asOf), tags };
}

/** Datasets, on the wire of the `langsmith` clients. */
@Resource('Datasets', ['datasets', 'api/v1/datasets'])
export class DatasetsController {
  constructor(private readonly datasets: DatasetRequests) {}

  @Get('', READ, { summary: 'Datasets, newest first', answer: [DatasetAnswer], sends: 'json' })
  async list(@FromCaller() { tenantId }: Caller, @Query() query: DatasetsQuery): Promise<string> {
    return jsonListOf(await this.datasets.list(tenantId, query), renderDataset);
  }

  @Post('', WORKSPACE, {
    summary: 'Creates a dataset',
    answer: DatasetAnswer,
    refuses: { 409: TAKEN },
    sends: 'json',
  })
  async create(@FromCaller() { tenantId }: Caller, @Body() body: CreateDatasetRequest): Promise<string> {
    return renderDataset(await this.datasets.create(tenantId, body));
  }

  @Get(':dataset_id', READ, { summary: 'A dataset', answer: DatasetAnswer, sends: 'json' })
  async get(
    @FromCaller() { tenantId }: Caller,
    @PathId('dataset_id') id: string,
    @Query() _query: DatasetQuery,
  ): Promise<string> {
    return renderDataset(await this.datasets.get(tenantId, id));
  }

  @Patch(':dataset_id', WORKSPACE, {
    summary: 'Changes a dataset; what is null or absent stays as it is',
    answer: DatasetAnswer,
    refuses: { 409: TAKEN },
    sends: 'json',
  })
  async update(
    @FromCaller() { tenantId }: Caller,
    @PathId('dataset_id') id: string,
    @Body() body: UpdateDatasetRequest,
  ): Promise<string> {
    return renderDataset(await this.datasets.update(tenantId, id, body));
  }

  @Delete(':dataset_id', WORKSPACE, {
    summary: 'Deletes a dataset with its examples; its experiments stay as tracing projects',
    answer: StoredAnswer,
  })
  async delete(@FromCaller() { tenantId }: Caller, @PathId('dataset_id') id: string): Promise<StoredAnswer> {
    await this.datasets.delete(tenantId, id);
    return { message: 'Dataset deleted' };
  }
}

/** Versions of datasets, and what examples of a version have in common. */
@Resource('Datasets', ['datasets/:dataset_id', 'api/v1/datasets/:dataset_id'])
export class DatasetVersionsController {
  constructor(
    private readonly datasets: DatasetRequests,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'datasetVersions'>,
  ) {}

  @Get('versions', READ, { summary: 'Versions of a dataset, newest first', answer: [DatasetVersionAnswer] })
  async versions(
    @FromCaller() { tenantId }: Caller,
    @PathId('dataset_id') id: string,
    @Query() query: VersionsQuery,
  ): Promise<DatasetVersionAnswer[]> {
    return (await this.store.datasetVersions.list(tenantId, id, query)).map(renderVersion);
  }

  @Get('version', READ, {
    summary: 'A version of a dataset, by its time or tag',
    answer: DatasetVersionAnswer,
  })
  async version(
    @FromCaller() { tenantId }: Caller,
    @PathId('dataset_id') id: string,
    @Query() query: VersionQuery,
  ): Promise<DatasetVersionAnswer> {
    return renderVersion(await this.datasets.version(tenantId, id, query));
  }

  @Put('tags', WORKSPACE, {
    summary: 'Gives a version a tag, which another one loses',
    answer: DatasetVersionAnswer,
  })
  async tag(
    @FromCaller() { tenantId }: Caller,
    @PathId('dataset_id') id: string,
    @Body() body: TagRequest,
  ): Promise<DatasetVersionAnswer> {
    return renderVersion(await this.datasets.tag(tenantId, id, body));
  }

  @Get('versions/diff', READ, {
    summary: 'What became of the examples between two versions',
    answer: DifferenceAnswer,
  })
  async diff(
    @FromCaller() { tenantId }: Caller,
    @PathId('dataset_id') id: string,
    @Query() { from_version: from, to_version: to }: DifferenceQuery,
  ): Promise<DifferenceAnswer> {
    const latest = { kind: 'tag', tag: 'latest' } as const;
    const difference = await this.store.datasetVersions.diff(
      ...([tenantId, id] as const),
      ...([parseAsOf(from) ?? latest, parseAsOf(to) ?? latest] as const),
    );
    return {
      examples_modified: difference.modified,
      examples_added: difference.added,
      examples_removed: difference.removed,
    };
  }

  @Get('splits', READ, { summary: 'Names of the splits that examples are in', answer: [String] })
  async splits(
    @FromCaller() { tenantId }: Caller,
    @PathId('dataset_id') id: string,
    @Query() { as_of: asOf }: AsOfQuery,
  ): Promise<readonly string[]> {
    return this.store.datasetVersions.splits(tenantId, id, parseAsOf(asOf));
  }

  @Put('splits', WORKSPACE, {
    summary: 'Puts examples into a split, or takes them out; answers all splits',
    answer: [String],
  })
  async moveSplit(
    @FromCaller() { tenantId }: Caller,
    @PathId('dataset_id') id: string,
    @Body() body: SplitRequest,
  ): Promise<readonly string[]> {
    return this.datasets.moveSplit(tenantId, id, body);
  }
}
