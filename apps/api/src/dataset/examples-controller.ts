import { Readable } from 'node:stream';
import {
  Body,
  Controller,
  Delete,
  Get,
  Header,
  Headers,
  HttpCode,
  Inject,
  Patch,
  Post,
  Query,
  Res,
} from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { formatInstant } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { StoredAnswer } from '../trace/run-answer.js';
import { FromBody, type SentBody } from '../trace/held-body.js';
import { Described } from '../wire/described.js';
import { jsonList } from '../wire/json-list.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { AsOfQuery } from './dataset-request.js';
import { requireUuids } from './dataset-requests.js';
import { ExampleAnswer, WrittenExamplesAnswer } from './example-answer.js';
import { ExampleLists } from './example-lists.js';
import {
  DeleteExamplesQuery,
  DeleteExamplesRequest,
  ExampleMultipartRequest,
  ExamplesQuery,
} from './example-request.js';
import { ExampleUploads, type UploadedExamples } from './example-uploads.js';
import { AskedOrigin } from '../wire/origin-of.js';

const JSON_TYPE = 'application/json; charset=utf-8';
const TOO_LONG = 'Finding the examples takes too long';

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids.map((id) => id.toLowerCase()))];
}

/** Examples of datasets, on the wire of the `langsmith` clients. */
@Described(({ ApiTags }) => ApiTags('Examples'))
@Controller(['examples', 'api/v1/examples'])
export class ExamplesController {
  constructor(
    private readonly lists: ExampleLists,
    private readonly answers: AnswerBudget,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'examples'>,
  ) {}

  @Get()
  @Header('content-type', JSON_TYPE)
  @RouteConfig({ countsAnswer: true })
  @Operation({
    summary: 'Examples of a dataset in one of its versions, in the order in which they were made',
    answer: [ExampleAnswer],
    refuses: { 400: TOO_LONG },
  })
  async list(
    @FromCaller() caller: Caller,
    @Query() query: ExamplesQuery,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.answers.send(reply, caller.tenantId, async (account) => {
      const found = await this.lists.find(caller.tenantId, query);
      const pieces = this.lists.pieces({ caller, origin, account }, found);
      // an answer over the limit is refused before it begins
      const first = await pieces.next();
      return Readable.from(jsonList(first, pieces), { objectMode: false });
    });
  }

  @Get(':example_id')
  @Header('content-type', JSON_TYPE)
  @RouteConfig({ countsAnswer: true })
  @Operation({
    summary: 'An example, in one of its versions',
    answer: ExampleAnswer,
    refuses: { 400: TOO_LONG },
  })
  async get(
    @FromCaller() caller: Caller,
    @PathId('example_id') id: string,
    @Query() { as_of: asOf }: AsOfQuery,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.answers.send(reply, caller.tenantId, async (account) => {
      const found = await this.lists.get(caller.tenantId, id, asOf);
      const { value } = await this.lists.pieces({ caller, origin, account }, found).next();
      return Buffer.concat(value ?? []);
    });
  }

  @Delete()
  @Operation({
    summary: 'Deletes examples; versions from before keep them',
    answer: StoredAnswer,
  })
  async deleteSome(
    @FromCaller() { tenantId }: Caller,
    @Query() { example_ids: ids }: DeleteExamplesQuery,
  ): Promise<StoredAnswer> {
    requireUuids(['query', 'example_ids'], ids);
    await this.store.examples.delete(tenantId, unique(ids), false);
    return { message: 'Examples deleted' };
  }

  @Delete(':example_id')
  @Operation({ summary: 'Deletes an example; versions from before keep it', answer: StoredAnswer })
  async delete(@FromCaller() { tenantId }: Caller, @PathId('example_id') id: string): Promise<StoredAnswer> {
    await this.store.examples.delete(tenantId, [id], false);
    return { message: 'Example deleted' };
  }
}

function written({ ids, asOf, mended }: UploadedExamples): WrittenExamplesAnswer {
  return {
    count: ids.length,
    example_ids: ids,
    as_of: formatInstant(asOf),
    ...(mended.length > 0 ? { mended } : {}),
  };
}

/** Examples as the clients upload them. */
@Described(({ ApiTags }) => ApiTags('Examples'))
@Controller(['v1/platform/datasets', 'api/v1/platform/datasets'])
export class ExampleUploadsController {
  constructor(
    private readonly uploads: ExampleUploads,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'examples'>,
  ) {}

  @Post('examples/delete')
  @HttpCode(200)
  @Operation({ summary: 'Deletes examples, in all versions when that is said', answer: StoredAnswer })
  async delete(
    @FromCaller() { tenantId }: Caller,
    @Body() { example_ids: ids, hard_delete: isHard }: DeleteExamplesRequest,
  ): Promise<StoredAnswer> {
    requireUuids(['body', 'example_ids'], ids);
    await this.store.examples.delete(tenantId, unique(ids), isHard === true);
    return { message: 'Examples deleted' };
  }

  @Post(':dataset_id/examples')
  @HttpCode(201)
  @RouteConfig({ rawBody: true })
  @Described(({ ApiConsumes }) => ApiConsumes('multipart/form-data'))
  @Operation({
    summary: 'Adds examples to a dataset, all of them as one version or none',
    status: 201,
    answer: WrittenExamplesAnswer,
    body: ExampleMultipartRequest,
    refuses: { 400: 'The body is not multipart', 409: 'There is an example with one of the ids' },
  })
  async add(
    @FromCaller() caller: Caller,
    @PathId('dataset_id') datasetId: string,
    @Headers('content-type') contentType: string,
    @FromBody('multipart') sent: SentBody,
  ): Promise<WrittenExamplesAnswer> {
    return written(await this.uploads.upload(caller, { datasetId, contentType, kind: 'add' }, sent));
  }

  @Patch(':dataset_id/examples')
  @RouteConfig({ rawBody: true })
  @Described(({ ApiConsumes }) => ApiConsumes('multipart/form-data'))
  @Operation({
    summary: 'Changes examples of a dataset, all of them as one version or none',
    answer: WrittenExamplesAnswer,
    body: ExampleMultipartRequest,
    refuses: { 400: 'The body is not multipart' },
  })
  async change(
    @FromCaller() caller: Caller,
    @PathId('dataset_id') datasetId: string,
    @Headers('content-type') contentType: string,
    @FromBody('multipart') sent: SentBody,
  ): Promise<WrittenExamplesAnswer> {
    return written(await this.uploads.upload(caller, { datasetId, contentType, kind: 'change' }, sent));
  }
}
