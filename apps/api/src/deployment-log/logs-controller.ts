import { Readable } from 'node:stream';
import { Controller, Get, type OnModuleDestroy, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Admission } from '#lib/admission';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { Described } from '../wire/described.js';
import { leaving } from '../wire/leaving.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { DeploymentLogs } from './deployment-logs.js';
import { formatFor, JSON_LINES, type LogFormat, type LogRecord, LogsQuery, PLAIN_TEXT } from './log-query.js';
import type { LogTarget } from './logged-pods.js';

/** Each holds connections to the Kubernetes API and to nodes for as long as it follows. */
const PLACES = {
  capacity: 64,
  perOwner: 16,
  refusal: 'Too many logs are read at once; finish reading others, or try again',
};
/** Maximum memory of one answer: its lines, once as they were read and once as they are sent. */
export const HELD_BYTES = 8_388_608;
/** Maximum memory of an answer that follows: data that has come and is not sent yet. */
const HELD_FOLLOWING_BYTES = 2_097_152;

const ANSWER =
  'Lines by time, each a JSON object: `{"type":"line","time","pod","container","text"}`, `{"type":"note","message"}` or `{"type":"heartbeat"}`; `TIME POD CONTAINER TEXT` for those who accept text/plain';
const REFUSES = {
  404: 'There is no such deployment, revision, pod or container',
  429: 'Too many logs are read at once',
};
const LOGS: MethodDecorator = Described(({ ApiResponse }) =>
  ApiResponse({
    status: 200,
    description: ANSWER,
    content: Object.fromEntries(
      [JSON_LINES, PLAIN_TEXT].map(({ contentType }) => [
        contentType.split(';')[0] ?? '',
        { schema: { type: 'string' } },
      ]),
    ),
  }),
);

/** Places of those who read logs, in whichever form. */
export class LogPlaces extends Admission {
  constructor() {
    super(PLACES);
  }
}

/** Output of the pods of deployments. */
@Described(({ ApiTags }) => ApiTags('Deployments (v2)'))
@Controller('v2/deployments/:deployment_id')
export class LogsController implements OnModuleDestroy {
  readonly #closing = new AbortController();

  constructor(
    private readonly logs: DeploymentLogs,
    private readonly answers: AnswerBudget,
    private readonly places: LogPlaces,
  ) {}

  /**
   * Ends answers that follow: a server that closes waits for its answers, and these do not end by themselves.
   */
  onModuleDestroy(): void {
    this.#closing.abort(new Error('the api is stopping'));
  }

  @Get('logs')
  @RouteConfig({ countsAnswer: true })
  @LOGS
  @Operation({ summary: 'What the pods of a deployment print', refuses: REFUSES })
  ofDeployment(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @Query() query: LogsQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.#send(caller, { deploymentId }, query, { request, reply });
  }

  @Get('revisions/:revision_id/logs')
  @RouteConfig({ countsAnswer: true })
  @LOGS
  @Operation({
    summary: 'What the pods of a revision print; of one that failed, the end of what they printed',
    refuses: REFUSES,
  })
  ofRevision(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @PathId('revision_id') revisionId: string,
    @Query() query: LogsQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.#send(caller, { deploymentId, revisionId }, query, { request, reply });
  }

  async #send(
    caller: Caller,
    target: LogTarget,
    query: LogsQuery,
    { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  ): Promise<void> {
    const client = leaving(reply, this.places.require(caller.tenantId).release);
    try {
      await this.answers.send(reply, caller.tenantId, async ({ hold }) => {
        hold(query.follow === true ? HELD_FOLLOWING_BYTES : HELD_BYTES);
        const format = formatFor(request.headers.accept);
        const signal = AbortSignal.any([client.signal, this.#closing.signal]);
        const records = await this.logs.open({ caller, target, query, signal });
        // a proxy that collects answers would hold back the lines of one that follows
        void reply.headers({ 'content-type': format.contentType, 'x-accel-buffering': 'no' });
        // a server that stops ends it, and would then wait for the next request of its client
        if (query.follow === true) void reply.header('connection', 'close');
        // the body of a HEAD is never read
        if (request.method === 'HEAD') return Readable.from([]);
        return Readable.from(rendered(records, format, signal), { objectMode: false });
      });
    } catch (error) {
      client.abort(error);
      throw error;
    }
  }
}

async function* rendered(
  records: AsyncIterable<readonly LogRecord[]>,
  format: LogFormat,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  try {
    for await (const batch of records) {
      const text = batch.map((record) => format.render(record)).join('');
      if (text !== '') yield Buffer.from(text);
    }
  } catch (error) {
    // the answer ends as it would have in the end: a server that stops leaves no answer torn
    if (!signal.aborted) throw error;
  }
}
