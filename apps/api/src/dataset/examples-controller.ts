import { Readable } from 'node:stream';
import { Body, Headers, Inject, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { formatInstant } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { StoredAnswer } from '../trace/run-answer.js';
import { FromBody, type SentBody } from '../trace/held-body.js';
import { Described, Resource } from '../wire/operation.js';
import { jsonList } from '../wire/json-list.js';
import { PathId } from '../wire/query-flag.js';
import { AsOfQuery } from './dataset-request.js';
import { requireUuids } from './dataset-requests.js';
import {
  DeleteExamplesQuery,
  DeleteExamplesRequest,
  ExampleAnswer,
  ExampleMultipartRequest,
  ExamplesQuery,
  WrittenExamplesAnswer,
} from './example.js';
import { ExampleLists } from './example-lists.js';
import { ExampleUploads, type UploadedExamples } from './example-uploads.js';
import { AskedOrigin } from '../wire/origin-of.js';
import { Get, Delete, Post, Patch } from '../wire/route.js';
import { READ, WORKSPACE } from '../wire/route-access.js';

const TOO_LONG = 'Finding the examples takes too long';

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids.map((id) => id.toLowerCase()))];
}

/** Examples of datasets, on the wire of the `langsmith` clients. */
@Resource('Examples', ['examples', 'api/v1/examples'])
export class ExamplesController {
  constructor(
    private readonly lists: ExampleLists,
    private readonly answers: AnswerBudget,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'examples'>,
  ) {}

  @Get('', READ, {
    summary: 'Examples of a dataset in one of its versions, in the order in which they were made',
    answer: [ExampleAnswer],
    refuses: { 400: TOO_LONG },
    sends: 'counted json',
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

  @Get(':example_id', READ, {
    summary: 'An example, in one of its versions',
    answer: ExampleAnswer,
    refuses: { 400: TOO_LONG },
    sends: 'counted json',
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

  @Delete('', WORKSPACE, {
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

  @Delete(':example_id', WORKSPACE, {
    summary: 'Deletes an example; versions from before keep it',
    answer: StoredAnswer,
  })
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
@Resource('Examples', ['v1/platform/datasets', 'api/v1/platform/datasets'])
export class ExampleUploadsController {
  constructor(
    private readonly uploads: ExampleUploads,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'examples'>,
  ) {}

  @Post('examples/delete', WORKSPACE, {
    summary: 'Deletes examples, in all versions when that is said',
    answer: StoredAnswer,
  })
  async delete(
    @FromCaller() { tenantId }: Caller,
    @Body() { example_ids: ids, hard_delete: isHard }: DeleteExamplesRequest,
  ): Promise<StoredAnswer> {
    requireUuids(['body', 'example_ids'], ids);
    await this.store.examples.delete(tenantId, unique(ids), isHard === true);
    return { message: 'Examples deleted' };
  }

  @Post(':dataset_id/examples', WORKSPACE, {
    summary: 'Adds examples to a dataset, all of them as one version or none',
    status: 201,
    answer: WrittenExamplesAnswer,
    body: ExampleMultipartRequest,
    refuses: { 400: 'The body is not multipart', 409: 'There is an example with one of the ids' },
    config: { rawBody: true },
  })
  @Described(({ ApiConsumes }) => ApiConsumes('multipart/form-data'))
  async add(
    @FromCaller() caller: Caller,
    @PathId('dataset_id') datasetId: string,
    @Headers('content-type') contentType: string,
    @FromBody('multipart') sent: SentBody,
  ): Promise<WrittenExamplesAnswer> {
    return written(await this.uploads.upload(caller, { datasetId, contentType, kind: 'add' }, sent));
  }

  @Patch(':dataset_id/examples', WORKSPACE, {
    summary: 'Changes examples of a dataset, all of them as one version or none',
    answer: WrittenExamplesAnswer,
    body: ExampleMultipartRequest,
    refuses: { 400: 'The body is not multipart' },
    config: { rawBody: true },
  })
  @Described(({ ApiConsumes }) => ApiConsumes('multipart/form-data'))
  async change(
    @FromCaller() caller: Caller,
    @PathId('dataset_id') datasetId: string,
    @Headers('content-type') contentType: string,
    @FromBody('multipart') sent: SentBody,
  ): Promise<WrittenExamplesAnswer> {
    return written(await this.uploads.upload(caller, { datasetId, contentType, kind: 'change' }, sent));
  }
}
