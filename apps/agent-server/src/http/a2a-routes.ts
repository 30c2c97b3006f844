import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorText, HTTP_STATUS, PublicError } from '#lib/errors';
import { isUuid } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import { buildCard10, buildHybridCard, extended } from '../a2a/agent-card.js';
import type { Agent } from '../a2a/agents.js';
import { withHistory } from '../a2a/build-task.js';
import {
  a2aErrorOf,
  type ChosenMethod,
  chooseMethod,
  renderError,
  renderResult,
  wireOfVersion,
} from '../a2a/choose-wire.js';
import { A2aError, idOf, invalidParam, missingId, parseEnvelope, type RpcId } from '../a2a/envelope.js';
import { requireTalk } from '../a2a/graph-request.js';
import { parseList, parseTask, type SendParameters } from '../a2a/parameters.js';
import { renderTaskList } from '../a2a/task-list.js';
import { TaskStream } from '../a2a/task-stream.js';
import type { BegunTask, Caller, SendOptions, Tasks } from '../a2a/tasks.js';
import { WIRE_03 } from '../a2a/wire-03.js';
import { WIRE_10 } from '../a2a/wire-10.js';
import type { Operation, PushOperation, Wire } from '../a2a/wire.js';
import { AuthRefusal } from '../authorization/auth-user.js';
import type { OutputReader, RunReader } from '../run/run-reading.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { type CardParts, cardOptions, registerCardRoutes, versionOf } from './a2a-card-routes.js';
import { dropBody } from './body-turns.js';
import { callerFields } from './caller-fields.js';
import { authorize, authorizeRun, newThreadScopeOf } from './caller-scope.js';
import { RpcEventStream, type StreamParts } from './event-stream.js';
import { publicErrorOf } from './http-server.js';
import { pathPart } from './request-parts.js';
import { access } from './route-access.js';
import { SlowAnswers } from './slow-answer.js';

export interface A2aRouteParts extends StreamParts, CardParts {
  readonly tasks: Tasks;
  readonly sql: Sql;
  readonly log: Logger;
}

/** One call of a method. */
interface Call {
  readonly id: RpcId;
  readonly wire: Wire;
  readonly operation: Operation;
  readonly params: unknown;
  readonly request: FastifyRequest;
  readonly caller: Caller;
  readonly agent: Agent;
  readonly reply: FastifyReply;
}

/** The A2A endpoint of each assistant, and its cards. */
export class A2aRoutes {
  readonly #slow: SlowAnswers;
  /** Streams that have not ended. */
  readonly #streams = new Map<ServerResponse, RpcEventStream>();

  constructor(private readonly parts: A2aRouteParts) {
    this.#slow = new SlowAnswers(parts);
  }

  register(app: FastifyInstance): void {
    registerCardRoutes(app, this.parts);
    app.post(
      '/a2a/:assistant_id',
      {
        ...access('any'),
        errorHandler: (error, _request, reply) => this.#refuse(error, reply),
      },
      (request, reply) => this.#answer(request, reply),
    );
  }

  /** True while a client waits for the result of a run. */
  get isAwaited(): boolean {
    return this.#slow.isAwaited;
  }

  /** Cuts off clients that wait for runs which will end at another server. */
  stop(): void {
    this.#slow.stop();
    for (const [response, stream] of this.#streams) if (!stream.isEnded) response.destroy();
  }

  /**
   * Answers errors raised before the handler: authentication errors are left to the server, an unreadable
   * body is answered here.
   */
  #refuse(error: unknown, reply: FastifyReply): void {
    const found = bodyError(error);
    if (!found) throw error;
    void reply.code(found.status).send(renderError(WIRE_03, null, found.error));
  }

  async #answer(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const id = idOf(request.body);
    let wire: Wire = WIRE_03;
    let isStream = false;
    try {
      if (request.body === undefined) throw new A2aError('parse', 'The body is empty');
      // a client that names a version, known or not, knows errors as 1.0 has them
      if (versionOf(request)?.trim()) wire = WIRE_10;
      wire = wireOfVersion(versionOf(request));
      const { hasId, method, params } = parseEnvelope(request.body);
      const chosen = chooseMethod(method);
      wire = chosen.wire;
      isStream = chosen.operation === 'stream' || chosen.operation === 'subscribe';
      if (!hasId) throw wrongParameters(chosen, params) ?? missingId();
      const caller = callerOf(request);
      const agent = await this.parts.agents.forTask(caller.calledAs, caller.assistantScope);
      requireTalk(agent);
      return await this.#perform({ ...chosen, id, params, request, caller, agent, reply });
    } catch (thrown) {
      if (thrown instanceof AuthRefusal) throw thrown; // authorization is left to the server
      const error = this.#shown(thrown);
      const status = statusOf(error);
      const body = renderError(wire, id, error);
      // clients of streams read errors as events, and take any other answer for a broken one
      return isStream && status === 200 && acceptsEvents(request)
        ? reply.type('text/event-stream; charset=utf-8').send(`data: ${JSON.stringify(body)}\n\n`)
        : reply.code(status).send(body);
    }
  }

  async #perform(call: Call): Promise<unknown> {
    const { tasks, sql } = this.parts;
    const { id, wire, operation, params, request, caller, agent } = call;
    switch (operation) {
      case 'send':
        return this.#send(call);
      case 'stream':
        return this.#stream(call, (reader) => {
          const options = { restartsTasks: wire.restartsTasks, isStreamed: true };
          const parameters = wire.parseSend(params);
          if (parameters.historyScope === 'context')
            throw invalidParam('configuration.historyScope', 'must be task for a stream');
          return this.#begin(call, options, parameters, reader);
        });
      case 'subscribe':
        return this.#stream(call, async (reader) => {
          const { id: taskId } = parseTask(params);
          return tasks.read(await caller.authorizeRead(), agent, taskId, !wire.refusesFinished, reader);
        });
      case 'get': {
        const { id: taskId, historyLength, ...more } = parseTask(params);
        const task = await tasks.get(await caller.authorizeRead(), agent, taskId, more);
        return renderResult(id, wire.renderTask(withHistory(task, historyLength)));
      }
      case 'list': {
        const options = { sql, tasks, renderTask: wire.renderTask };
        const wanted = parseList(params);
        const { contextId, pageSize } = wanted;
        const thread_id = isUuid(contextId) ? contextId.toLowerCase() : undefined;
        const value = { metadata: {}, limit: pageSize, thread_id };
        const scope = await authorize(request, 'threads:search', value);
        return renderResult(id, await renderTaskList(scope, agent, wanted, options));
      }
      case 'cancel':
        return this.#cancel(call);
      case 'pushSet':
      case 'pushGet':
      case 'pushList':
      case 'pushDelete':
        return this.#push(call, operation);
      case 'extendedCard': {
        const build = wire.version === '1.0' ? buildCard10 : buildHybridCard;
        return renderResult(id, extended(build(agent, cardOptions(request, this.parts)), agent));
      }
      default:
        return operation satisfies never;
    }
  }

  async #cancel(call: Call): Promise<FastifyReply> {
    const { wire, agent, params, request } = call;
    const { id: taskId } = parseTask(params);
    const value = { action: 'interrupt', metadata: { run_ids: [taskId], status: 'pending' } };
    const scope = await authorize(request, 'threads:update', value);
    const cancelled = this.parts.tasks.cancel(scope, agent, taskId);
    return this.#whenKnown(call, cancelled.then(wire.renderTask), doNothing);
  }

  /** Receivers of notifications about a task. */
  async #push(call: Call, operation: PushOperation): Promise<unknown> {
    const { id, wire, agent, params, request, caller } = call;
    const isChange = operation === 'pushSet' || operation === 'pushDelete';
    const url = operation === 'pushSet' ? wire.push.parseSet(params).target.url : undefined;
    const scope = await (isChange ? authorizeReceiver(request, url) : caller.authorizeRead());
    return renderResult(id, await this.parts.pushes.perform(scope, agent, wire, operation, params));
  }

  /** Begins or continues a task, with the receiver of notifications that its message names. */
  async #begin(
    { caller, agent, wire, request }: Call,
    options: SendOptions,
    parameters: SendParameters,
    reader?: RunReader,
  ): Promise<BegunTask> {
    const { tasks, pushes } = this.parts;
    const target = parameters.push && (await pushes.admit(parameters.push));
    if (target) await authorizeReceiver(request, target.url);
    const begun = await tasks.send(caller, agent, options, parameters, reader);
    if (!target) return begun;
    try {
      await pushes.set(begun.scope, agent, { wire, taskId: begun.task.id, target, catchesUp: true });
      return begun;
    } catch (error) {
      begun.stopReading();
      throw error;
    }
  }

  async #send(call: Call): Promise<unknown> {
    const { tasks } = this.parts;
    const { id, wire, agent } = call;
    const parameters = wire.parseSend(call.params);
    const { isBlocking, historyLength, historyScope } = parameters;
    const options = { restartsTasks: wire.restartsTasks, isStreamed: !isBlocking };
    if (!isBlocking) {
      const { task: begun, scope } = await this.#begin(call, options, parameters);
      const task =
        historyScope === 'task' ? begun : await tasks.get(scope, agent, begun.id, { historyScope });
      return renderResult(id, wire.renderSent(withHistory(task, historyLength)));
    }
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const reader = { kind: 'result', ended: () => resolve() } as const;
    // only the task's id is kept while the run works: its history holds the message
    const {
      task: { id: taskId },
      scope,
      stopReading,
    } = await this.#begin(call, options, parameters, reader);
    const result = ended.then(async () =>
      wire.renderSent(withHistory(await tasks.get(scope, agent, taskId, { historyScope }), historyLength)),
    );
    return this.#whenKnown(call, result, stopReading);
  }

  /** Answers with a result that may come much later; holds nothing of the request until then. */
  #whenKnown(
    { id, wire, request, reply }: Call,
    result: Promise<ReturnType<Wire['renderTask']>>,
    onLeft: () => void,
  ): FastifyReply {
    dropBody(request);
    const answer = result
      .then((known) => renderResult(id, known))
      .catch((error: unknown) => renderError(wire, id, this.#shown(error)));
    this.#slow.send(reply, answer.then(JSON.stringify), onLeft);
    return reply;
  }

  /** Streams a task. Errors before the first event get a plain answer, not a stream. */
  async #stream(
    { id, wire, agent, reply, request }: Call,
    begin: (reader: OutputReader) => Promise<BegunTask>,
  ): Promise<FastifyReply> {
    const { raw } = reply;
    const stream = new RpcEventStream(raw, this.parts, () => reader.more());
    const reader: TaskStream = new TaskStream({
      clock: this.parts.clock,
      hasRoom: () => stream.hasRoom,
      emit: (event) => stream.send(JSON.stringify(renderResult(id, wire.renderEvent(event)))),
      readTask: (taskId) => this.parts.tasks.get(scope, agent, taskId), // once it has begun
      ended: (error) => {
        if (error !== undefined) stream.send(JSON.stringify(renderError(wire, id, this.#shown(error))));
        stream.end();
      },
    });
    const { task, scope, stopReading } = await begin(reader);
    reply.hijack();
    dropBody(request);
    const left = (): void => {
      this.#streams.delete(raw);
      stopReading();
    };
    if (raw.destroyed) {
      left();
      return reply;
    }
    this.#streams.set(raw, stream);
    raw.once('close', left);
    stream.begin();
    reader.begin(task);
    return reply;
  }

  /** Error that the client may see; the details go to the log. */
  #shown(thrown: unknown): A2aError {
    const error = a2aErrorOf(thrown instanceof A2aError ? thrown : (publicErrorOf(thrown) ?? thrown));
    if (error.kind !== 'internal') return error;
    if (error.cause instanceof PublicError)
      this.parts.log.warn({ error: errorText(thrown) }, 'dependency unavailable for a request');
    else this.parts.log.error({ err: thrown, path: '/a2a/:assistant_id', method: 'POST' }, 'request failed');
    return error;
  }
}

/** Shared function: a closure would hold the call that it is made in. */
function doNothing(): void {}

function callerOf(request: FastifyRequest): Caller & Required<Pick<Caller, 'assistantScope'>> {
  const { caller, server } = request;
  return {
    owner: server.authorization && caller?.identity,
    calledAs: pathPart(request, 'assistant_id'),
    fields: callerFields(request),
    assistantScope: (assistantId) => authorize(request, 'assistants:read', { assistant_id: assistantId }),
    newThreadScope: newThreadScopeOf(request),
    authorizeRun: (body, threadId) => authorizeRun(request, body, threadId),
    authorizeRead: () => authorize(request, 'threads:read', { thread_id: undefined }),
  };
}

/** Scope for a change of receivers. @param url of the one that is named; undefined for one that goes */
function authorizeReceiver(request: FastifyRequest, url: string | undefined): Promise<Scope> {
  return authorize(request, 'threads:update', {
    metadata: {},
    ...(url === undefined ? {} : { webhook: url }),
  });
}

function isOfPush(operation: Operation): operation is PushOperation {
  return operation.startsWith('push');
}

function acceptsEvents({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/event-stream') === true;
}

/** The error of parameters that a method does not take; undefined when they are right. */
function wrongParameters({ wire, operation }: ChosenMethod, params: unknown): unknown {
  try {
    if (operation === 'send' || operation === 'stream') wire.parseSend(params);
    else if (operation === 'list') parseList(params);
    else if (operation === 'pushSet') wire.push.parseSet(params);
    else if (isOfPush(operation)) wire.push.parseName(params);
    else if (operation !== 'extendedCard') parseTask(params);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Errors of the protocol are answers; those of HTTP keep their status. */
function statusOf({ cause }: A2aError): number {
  if (!(cause instanceof PublicError)) return 200;
  return ['not_found', 'forbidden'].includes(cause.code) ? HTTP_STATUS[cause.code] : 200;
}

/** Error in a body before it was parsed as JSON; undefined for errors that do not concern the body. */
function bodyError(error: unknown): { readonly status: number; readonly error: A2aError } | undefined {
  const isWrongType = error instanceof Error && 'statusCode' in error && error.statusCode === 415;
  if (isWrongType) {
    const message = 'The content type of the body must be application/json';
    return { status: 415, error: new A2aError('contentTypeNotSupported', message) };
  }
  const shown = publicErrorOf(error);
  if (shown?.code === 'bad_request') return { status: 200, error: new A2aError('parse', shown.message) };
  if (shown?.code === 'invalid') return { status: 200, error: a2aErrorOf(shown) };
  return shown?.code === 'too_large' ? { status: 413, error: a2aErrorOf(shown) } : undefined;
}
