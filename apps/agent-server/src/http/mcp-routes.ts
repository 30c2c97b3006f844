import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorText, HTTP_STATUS, PublicError } from '#lib/errors';
import { inTurns, type JsonObject, type MutableJsonObject } from '#lib/json';
import type { Logger } from '#lib/telemetry';
import {
  CODE,
  declaresTasks,
  INITIALIZED_REVISION,
  isOfTasks,
  McpError,
  mcpError,
  type McpId,
  mcpIdOf,
  type McpMessage,
  mcpResult,
  mcpResultText,
  parseMessage,
  requireTasks,
  type Revision,
  isStateless,
  STATELESS_REVISION,
} from '../mcp/rpc.js';
import {
  findTool,
  parseToolCall,
  renderRefusal,
  renderTools,
  renderToolResult,
  type ToolParts,
} from '../mcp/tools.js';
import { getToolRun, renderTask, resultOfTask, TASK_MINUTES } from '../mcp/tool-tasks.js';
import { parseRequestedRun, type RequestedRun } from '../run/requested-run.js';
import type { RunResult } from '../log/event-log.js';
import { type Asker, CLIENT_LEFT, type RunService, type Submitted } from '../run/run-service.js';
import { leftOf, type Scope } from '../store/scope.js';
import { SMALL_BYTES } from '../store/json-text.js';
import { setThreadTtl } from '../store/statement/threads.js';
import { TOOL_RUN_KEY } from '../store/statement/tool-runs.js';
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

/** A run that a call asks for. */
interface Order {
  readonly asker: Asker;
  readonly wanted: RequestedRun;
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
    message: McpMessage,
    id: McpId,
    revision: Revision,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const { version } = this.parts;
    const { method = '', params } = message;
    const known = revision.answer(method, params, version);
    if (known) return mcpResult(id, known);
    if (revision.renderCreated && isOfTasks(method)) {
      requireTasks(message);
      const text = await this.#ofTask(method, params, request);
      return asJson(reply, mcpResultText(id, revision.renderCall(text, version)));
    }
    switch (method) {
      case 'tools/list': {
        const scope = await authorize(request, 'assistants:search', {});
        return mcpResult(id, revision.renderList(await renderTools(scope, params, this.parts), version));
      }
      case 'tools/call': {
        const render = (result: string): string => mcpResultText(id, revision.renderCall(result, version));
        const { renderCreated } = revision;
        return renderCreated && declaresTasks(message)
          ? this.#begin(params, render, (task) => mcpResult(id, renderCreated(task, version)), request, reply)
          : this.#call(id, params, render, request, reply);
      }
      default: {
        const found = `Method "${method.slice(0, 100)}" not found`;
        throw new McpError(CODE.methodNotFound, found, undefined, revision.unknownStatus);
      }
    }
  }

  /**
   * The run that a call asks for.
   * @param threadId undefined for a run without a thread
   * @throws McpError for a tool that does not exist, PublicError
   */
  async #order(params: JsonObject, request: FastifyRequest, threadId?: string): Promise<Order> {
    // the body that `POST /runs/wait` would have, or that of a run on a new thread
    const call = parseToolCall(params);
    const mark = { [TOOL_RUN_KEY]: {} };
    const body: MutableJsonObject =
      threadId === undefined ? { ...call } : { ...call, metadata: mark, if_not_exists: 'create' };
    const scope = await authorizeRun(request, body, threadId);
    const assistantScope = (assistantId: string): Promise<Scope> =>
      authorize(request, 'assistants:read', { assistant_id: assistantId });
    const assistantId = await findTool(assistantScope, call.assistant_id, this.parts);
    const fields = callerFields(request);
    const asker = { scope, assistantScope, newThreadScope: newThreadScopeOf(request), threadId, fields };
    const { metadata, ...left } = parseRequestedRun(body);
    const marked = threadId === undefined ? metadata : { ...metadata, ...mark };
    return { asker, wanted: { ...left, metadata: marked, assistant_id: assistantId } };
  }

  /** Runs an assistant on a thread of its own, and answers with the task that the run is. */
  async #begin(
    params: JsonObject,
    render: Shown['render'],
    renderCreated: (task: JsonObject) => JsonObject,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const threadId = randomUUID();
    try {
      const { asker, wanted } = await this.#order(params, request, threadId);
      const { run } = await this.parts.runs.submit(asker, wanted);
      const ttl = { strategy: 'delete', minutes: TASK_MINUTES } as const;
      await setThreadTtl(asker.scope, this.parts.sql, threadId, ttl);
      const createdAt = new Date(run.created_at);
      const task = { runId: run.run_id, status: run.status, createdAt, updatedAt: createdAt };
      return renderCreated(renderTask({ ...task, cancelReason: undefined }));
    } catch (error) {
      if (error instanceof PublicError && error.code === 'invalid')
        return asJson(reply, render(renderRefusal(error)));
      throw error;
    }
  }

  /** The answer to a method about a task, as JSON text. @throws McpError */
  async #ofTask(method: string, params: JsonObject, request: FastifyRequest): Promise<string> {
    const { sql, runs } = this.parts;
    if (method === 'tasks/cancel') {
      const value = { action: 'interrupt', metadata: { run_ids: [params['taskId']], status: 'pending' } };
      const scope = await authorize(request, 'threads:update', value);
      const { runId, threadId } = await getToolRun(scope, sql, params);
      await runs.cancel(scope, runId, threadId, 'interrupt');
      return '{}';
    }
    const scope = await authorize(request, 'threads:read', { thread_id: undefined });
    const run = await getToolRun(scope, sql, params);
    // no task asks for input: answers are for questions that nobody has put
    if (method === 'tasks/update') return '{}';
    const task = JSON.stringify(renderTask(run));
    const result = await resultOfTask(scope, sql, run);
    return result ? `${task.slice(0, -1)},"result":${await this.#resultText(scope, result)}}` : task;
  }

  /** Runs an assistant without a thread; a client that leaves ends the run. */
  async #call(
    id: McpId,
    params: JsonObject,
    render: Shown['render'],
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const { promise: ended, resolve } = Promise.withResolvers<RunResult>();
    let submitted: Submitted;
    const { asker, wanted } = await this.#order(params, request);
    try {
      submitted = await this.parts.runs.submit(asker, wanted, { kind: 'result', ended: resolve });
    } catch (error) {
      if (error instanceof PublicError && error.code === 'invalid')
        return asJson(reply, render(renderRefusal(error)));
      throw error;
    }
    dropBody(request);
    const { run, stopReading } = submitted;
    const { scope } = asker;
    this.#show(reply, ended, { id, render, scope, runId: run.run_id, threadId: run.thread_id, stopReading });
    return reply;
  }

  #resultText(scope: Scope, result: RunResult): Promise<string> {
    return this.parts.sql.lookIfSmall(scope, async (mayBeLarge) =>
      mayBeLarge || result.body.length <= SMALL_BYTES
        ? inTurns(renderToolResult(result), leftOf(scope))
        : 'large',
    );
  }

  /** Answers with the result of a run; holds nothing of the request. */
  #show(
    reply: FastifyReply,
    ended: Promise<RunResult>,
    { id, render, scope, runId, threadId, stopReading }: Shown,
  ): void {
    const answer = ended
      .then((result) => this.#resultText(scope, result))
      .then(render)
      .catch((error: unknown) => JSON.stringify(this.#shown(error, id).body));
    this.#slow.send(reply, answer, () => {
      stopReading();
      void this.parts.runs.cancel(scope, runId, threadId, 'interrupt', CLIENT_LEFT).catch(() => undefined); // it ended in the meantime
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
