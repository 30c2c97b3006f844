import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorText, HTTP_STATUS, PublicError } from '#lib/errors';
import { inTurns, type JsonObject, type MutableJsonObject } from '#lib/json';
import type { Logger } from '#lib/telemetry';
import {
  CODE,
  INITIALIZED_REVISION,
  McpError,
  mcpError,
  type McpId,
  mcpIdOf,
  type McpMessage,
  mcpResult,
  mcpResultText,
  parseMessage,
  type Revision,
} from '../mcp/rpc.js';
import { isStateless, STATELESS_REVISION } from '../mcp/stateless.js';
import {
  findTool,
  parseToolCall,
  renderRefusal,
  renderTools,
  renderToolResult,
  type ToolParts,
} from '../mcp/tools.js';
import { parseRequestedRun } from '../run/requested-run.js';
import type { RunResult } from '../log/event-log.js';
import type { RunService, Submitted } from '../run/run-service.js';
import { leftOf, type Scope } from '../store/scope.js';
import { SMALL_BYTES } from '../store/json-text.js';
import { dropBody } from './body-turns.js';
import { callerFields } from './caller-fields.js';
import { AuthRefusal } from '../authorization/auth-user.js';
import { authorize, authorizeRun, newThreadScopeOf } from './caller-scope.js';
import { type CorsPolicy, MAY_NOT_READ, refusedOrigin } from './cors.js';
import type { StreamParts } from './event-stream.js';
import { publicErrorOf } from './http-server.js';
import { access } from './route-access.js';
import { asJson } from './search-answer.js';
import { SlowAnswers } from './slow-answer.js';

export interface McpRouteParts extends StreamParts, ToolParts {
  readonly runs: RunService;
  /**
   * Pages that may call: the protocol requires servers to refuse others, whose names may lead to this
   * address.
   */
  readonly cors: CorsPolicy;
  /** Version that the server reports. */
  readonly version: string;
  readonly log: Logger;
}

interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

/** Parts that an answer needs of the run that it waits for. */
interface Shown {
  readonly id: McpId;
  /** The answer that a result makes. */
  readonly render: (result: string) => string;
  readonly scope: Scope;
  readonly runId: string;
  readonly threadId: string;
  readonly stopReading: () => void;
}

/** Assistants as tools of the Model Context Protocol: Streamable HTTP without sessions, answers as JSON. */
export class McpRoutes {
  readonly #slow: SlowAnswers;

  constructor(private readonly parts: McpRouteParts) {
    this.#slow = new SlowAnswers(parts);
  }

  register(app: FastifyInstance): void {
    app.post(
      '/mcp',
      { ...access('any'), errorHandler: (error, _request, reply) => refuse(error, reply) },
      (request, reply) => this.#answer(request, reply),
    );
    // the server has no stream of its own, and no session to end
    app.get('/mcp', access('any'), (_request, reply) => {
      return reply.code(405).header('allow', 'POST').send({ detail: 'Send messages by POST' });
    });
    app.delete('/mcp', access('any'), (_request, reply) => {
      return reply.code(404).send({ detail: 'There are no sessions' });
    });
  }

  /** True while a client waits for the result of a run. */
  get isAwaited(): boolean {
    return this.#slow.isAwaited;
  }

  /** Cuts off clients that wait for runs which will end at another server. */
  stop(): void {
    this.#slow.stop();
  }

  async #answer(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { body } = request;
    try {
      const refused = refusedOrigin(this.parts.cors, request.headers);
      if (refused !== undefined)
        throw new PublicError('forbidden', `MCP refused for pages of ${refused}: ${MAY_NOT_READ}`);
      if (body === undefined) throw new McpError(CODE.parse, 'The body is empty');
      const message = parseMessage(body);
      const revision = isStateless(message, request.headers) ? STATELESS_REVISION : INITIALIZED_REVISION;
      // notifications and answers are taken and not answered
      if (message.id === undefined) return await reply.code(202).send();
      return await this.#perform(message, message.id, revision, request, reply);
    } catch (error) {
      if (error instanceof AuthRefusal) throw error; // authorization is left to the server
      const found = this.#shown(error, mcpIdOf(body));
      return reply.code(found.status).send(found.body);
    }
  }

  async #perform(
    { method = '', params }: McpMessage,
    id: McpId,
    revision: Revision,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const { version } = this.parts;
    const known = revision.answer(method, params, version);
    if (known) return mcpResult(id, known);
    switch (method) {
      case 'tools/list': {
        const scope = await authorize(request, 'assistants:search', {});
        return mcpResult(id, revision.renderList(await renderTools(scope, params, this.parts), version));
      }
      case 'tools/call': {
        const render = (result: string): string => mcpResultText(id, revision.renderCall(result, version));
        return this.#call(id, params, render, request, reply);
      }
      default: {
        const found = `Method "${method.slice(0, 100)}" not found`;
        throw new McpError(CODE.methodNotFound, found, undefined, revision.unknownStatus);
      }
    }
  }

  /** Runs an assistant without a thread; a client that leaves ends the run. */
  async #call(
    id: McpId,
    params: JsonObject,
    render: Shown['render'],
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    // the body that `POST /runs/wait` would have
    const call = parseToolCall(params);
    const body: MutableJsonObject = { ...call };
    const scope = await authorizeRun(request, body, undefined);
    const assistantScope = (assistantId: string): Promise<Scope> =>
      authorize(request, 'assistants:read', { assistant_id: assistantId });
    const assistantId = await findTool(assistantScope, call.assistant_id, this.parts);
    const { promise: ended, resolve } = Promise.withResolvers<RunResult>();
    const asker = {
      scope,
      assistantScope,
      newThreadScope: newThreadScopeOf(request),
      threadId: undefined,
      fields: callerFields(request),
    };
    let submitted: Submitted;
    try {
      const wanted = { ...parseRequestedRun(body), assistant_id: assistantId };
      submitted = await this.parts.runs.submit(asker, wanted, { kind: 'result', ended: resolve });
    } catch (error) {
      if (error instanceof PublicError && error.code === 'invalid')
        return asJson(reply, render(renderRefusal(error)));
      throw error;
    }
    dropBody(request);
    const { run, stopReading } = submitted;
    this.#show(reply, ended, { id, render, scope, runId: run.run_id, threadId: run.thread_id, stopReading });
    return reply;
  }

  /** Answers with the result of a run; holds nothing of the request. */
  #show(
    reply: FastifyReply,
    ended: Promise<RunResult>,
    { id, render, scope, runId, threadId, stopReading }: Shown,
  ): void {
    const read = (result: RunResult): Promise<string> =>
      this.parts.sql.lookIfSmall(scope, async (mayBeLarge) =>
        mayBeLarge || result.body.length <= SMALL_BYTES
          ? inTurns(renderToolResult(result), leftOf(scope))
          : 'large',
      );
    const answer = ended
      .then(read)
      .then(render)
      .catch((error: unknown) => JSON.stringify(this.#shown(error, id).body));
    this.#slow.send(reply, answer, () => {
      stopReading();
      void this.parts.runs.cancel(scope, runId, threadId, 'interrupt').catch(() => undefined); // it ended in the meantime
    });
  }

  #shown(thrown: unknown, id: McpId): Answer {
    if (thrown instanceof McpError) return { status: statusOf(thrown), body: mcpError(id, thrown) };
    const shown = publicErrorOf(thrown);
    if (shown?.code === 'unavailable')
      this.parts.log.warn({ error: errorText(thrown) }, 'dependency unavailable for a request');
    if (shown)
      return {
        status: ['not_found', 'forbidden', 'unavailable'].includes(shown.code)
          ? HTTP_STATUS[shown.code]
          : 200,
        body: mcpError(id, new McpError(CODE.internal, shown.message)),
      };
    this.parts.log.error({ err: thrown, path: '/mcp', method: 'POST' }, 'request failed');
    return { status: 500, body: mcpError(id, new McpError(CODE.internal, 'Internal error')) };
  }
}

/** Requests that cannot be read are refused by HTTP as well; methods and parameters are not its matter. */
function statusOf({ code, status }: McpError): number {
  return status ?? (code === CODE.parse || code === CODE.invalidRequest ? 400 : 200);
}

/**
 * Answers errors raised before the handler: authentication errors are left to the server, an unreadable body
 * is answered here.
 */
function refuse(error: unknown, reply: FastifyReply): void {
  if (error instanceof Error && 'statusCode' in error && error.statusCode === 415) {
    const found = new McpError(CODE.invalidRequest, 'The content type must be application/json');
    return void reply.code(415).send(mcpError(null, found));
  }
  const shown = publicErrorOf(error);
  if (shown?.code !== 'bad_request' && shown?.code !== 'invalid') throw error;
  void reply.code(400).send(mcpError(null, new McpError(CODE.parse, detailOf(shown))));
}

function detailOf({ message, problems }: PublicError): string {
  return problems.length === 0 ? message : problems.map(({ msg }) => msg).join('; ');
}
