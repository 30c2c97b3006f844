import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import { isJsonObject, type JsonObject, type MutableJsonObject, parseShort } from '#lib/json';
import type { Agents } from '../a2a/agents.js';
import { A2aError } from '../a2a/envelope.js';
import type { ContextThreads } from '../a2a/tasks.js';
import { filesOf } from '../ag-ui/messages.js';
import { RunEvents } from '../ag-ui/run-events.js';
import { askedRunOf, parseRunInput, type RunInput } from '../ag-ui/run-input.js';
import { parseRequestedRun } from '../run/requested-run.js';
import { CLIENT_LEFT, type RunService, type Submitted } from '../run/run-service.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { findSmallValues } from '../store/statement/threads.js';
import { dropBody } from './body-turns.js';
import { callerFields } from './caller-fields.js';
import { authorize, authorizeRun, newThreadScopeOf } from './caller-scope.js';
import { RpcEventStream, type StreamParts } from './event-stream.js';
import { pathPart } from './request-parts.js';
import { access } from './route-access.js';

export interface AgUiRouteParts extends StreamParts {
  readonly sql: Sql;
  readonly runs: RunService;
  readonly agents: Agents;
  readonly contexts: ContextThreads;
  /** Refuses files on hosts that may not be called. @throws A2aError */
  readonly requireHosts: (parts: ReturnType<typeof filesOf>) => Promise<void>;
}

/** Pages send their state whole, and get it so: threads with larger ones are for other clients. */
const MAX_STATE_CHARS = 4 * 1024 * 1024;

interface Made {
  readonly submitted: Submitted;
  readonly scope: Scope;
}

/** Assistants for pages of AG-UI: one request is one run on the thread that it names. */
export class AgUiRoutes {
  /** Streams that have not ended. */
  readonly #streams = new Map<ServerResponse, RunEvents>();

  constructor(private readonly parts: AgUiRouteParts) {}

  register(app: FastifyInstance): void {
    app.post('/ag-ui/:assistant_id', access('any'), (request, reply) => this.#run(request, reply));
  }

  /** Cuts off readers of runs which will end at another server. */
  stop(): void {
    for (const [response, events] of this.#streams) if (!events.isEnded) response.destroy();
  }

  /** Errors before the run begins are answers of HTTP; later ones are events. */
  async #run(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const given = parseRunInput(request.body);
    await this.#requireHosts(given);
    const owner = request.server.authorization && request.caller?.identity;
    const [first, next] = await this.parts.contexts.of(owner, given.threadId);
    const begin = (threadId: string): Promise<void> => this.#stream(request, reply, given, threadId);
    if (next === undefined) await begin(first);
    else
      await begin(first).catch(async (error: unknown) => {
        // another's thread is as if it did not exist
        if (!(error instanceof PublicError) || error.code !== 'not_found') throw error;
        await begin(next);
      });
    return reply;
  }

  async #requireHosts({ messages }: RunInput): Promise<void> {
    try {
      await this.parts.requireHosts(filesOf(messages));
    } catch (error) {
      if (error instanceof A2aError) throw new PublicError('invalid', error.message);
      throw error;
    }
  }

  async #stream(
    request: FastifyRequest,
    reply: FastifyReply,
    given: RunInput,
    threadId: string,
  ): Promise<void> {
    const { raw } = reply;
    const stream = new RpcEventStream(raw, this.parts, () => events.more());
    const assistantScope = (id: string): Promise<Scope> =>
      authorize(request, 'assistants:read', { assistant_id: id });
    const calledAs = pathPart(request, 'assistant_id');
    const agent = await this.parts.agents.forTask(calledAs, assistantScope);
    const values = await this.#valuesOf(request, threadId);
    const { body: wanted, ignored } = askedRunOf(given, { values }, agent);
    const events: RunEvents = new RunEvents({
      threadId: given.threadId,
      runId: given.runId,
      ignored,
      hasRoom: () => stream.hasRoom,
      emit: (event) => stream.send(JSON.stringify(event)),
      ended: () => stream.end(),
    });
    const body: MutableJsonObject = { assistant_id: calledAs, if_not_exists: 'create', ...wanted };
    const { submitted, scope } = await this.#submit(request, body, threadId, assistantScope, events);
    const { run, stopReading } = submitted;
    reply.hijack();
    dropBody(request);
    const left = (): void => {
      this.#streams.delete(raw);
      stopReading();
      // a page that leaves ends its run
      if (!events.isEnded)
        void this.parts.runs
          .cancel(scope, run.run_id, run.thread_id, 'interrupt', CLIENT_LEFT)
          .catch(() => undefined); // it ended in the meantime
    };
    if (raw.destroyed) return left();
    this.#streams.set(raw, events);
    raw.once('close', left);
    stream.begin();
    events.begin();
  }

  async #submit(
    request: FastifyRequest,
    body: MutableJsonObject,
    threadId: string,
    assistantScope: (id: string) => Promise<Scope>,
    reader: RunEvents,
  ): Promise<Made> {
    const scope = await authorizeRun(request, body, threadId);
    const wanted = parseRequestedRun(body);
    const asker = {
      scope,
      threadId,
      fields: callerFields(request),
      assistantScope,
      newThreadScope: newThreadScopeOf(request),
    };
    const modes: (typeof wanted)['stream_mode'] = ['messages-tuple', 'values', 'custom'];
    const submitted = await this.parts.runs.submit(asker, { ...wanted, stream_mode: modes }, reader);
    return { submitted, scope };
  }

  /** Values of the thread before the run; empty for one that does not exist yet. */
  async #valuesOf(request: FastifyRequest, threadId: string): Promise<JsonObject> {
    const { sql } = this.parts;
    const scope = await authorize(request, 'threads:read', { thread_id: threadId });
    const text = await sql.lookIfSmall<string | null>(
      scope,
      async (mayBeLarge) => (await findSmallValues(scope, sql, threadId, mayBeLarge)) ?? null,
    );
    if (text === null) return {};
    if (text.length > MAX_STATE_CHARS)
      throw new PublicError(
        'too_large',
        `The state of the thread has ${text.length} characters, and ${MAX_STATE_CHARS} is the most for AG-UI; use /threads/${threadId}/runs/stream`,
      );
    const values = parseShort(text, MAX_STATE_CHARS);
    return isJsonObject(values) ? values : {};
  }
}
