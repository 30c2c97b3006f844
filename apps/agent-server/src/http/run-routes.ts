import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PublicError } from '#lib/errors';
import { inTurns } from '#lib/json';
import type { Logger } from '#lib/telemetry';
import type { ReadFrom } from '../log/log-cursor.js';
import { parsePosition } from '../log/logged-event.js';
import {
  MAX_NAMES,
  parseInput,
  parseOwnRun,
  parseRequestedRun,
  type RequestedRun,
} from '../run/requested-run.js';
import type { RunOutputs } from '../run/run-outputs.js';
import type { RunReader } from '../run/run-reading.js';
import {
  CLIENT_LEFT,
  type Asker,
  type RunOrder,
  type RunService,
  type Submitted,
} from '../run/run-service.js';
import {
  parseThreadPosition,
  THREAD_MODES,
  type ThreadFrom,
  ThreadReading,
  type ThreadReadingParts,
} from '../run/thread-reading.js';
import { RUN_FIELDS, runText } from '../store/row/run-row.js';
import { listRuns } from '../store/statement/runs.js';
import type { Scope } from '../store/scope.js';
import { getThreadHead } from '../store/statement/threads.js';
import { STREAM_MODE_NAMES, type StreamMode } from '../stream/stream-modes.js';
import { askAgain } from './ask-again.js';
import { dropBody } from './body-turns.js';
import { callerFields } from './caller-fields.js';
import { authorize, authorizeRun, newThreadScopeOf, scopeOf } from './caller-scope.js';
import { registerCancelRoutes } from './cancel-routes.js';
import { type EraseParts, eraseRun } from './erase-routes.js';
import { EventStream, type StreamParts } from './event-stream.js';
import { hasPathPart, listOf, pageOf, pathId, queryOf, threadIdOf } from './request-parts.js';
import { access } from './route-access.js';
import { asJson, jsonList } from './search-answer.js';
import { WaitingReply } from './slow-answer.js';

/** Values that clients send for everything that is kept. */
const EVERYTHING = ['-1', '-', '0'];

function lastEventId({ headers }: FastifyRequest): string {
  const given = headers['last-event-id'];
  return typeof given === 'string' ? given : '';
}

function unknownEvent(given: string, of: string): PublicError {
  return new PublicError(
    'bad_request',
    `Last-Event-ID: "${given.slice(0, 80)}" is not the id of an event of ${of}; send the id of the last event received, or -1 for everything that is kept`,
  );
}

/** Start of a reader of all runs of a thread. @throws PublicError `bad_request` */
function threadReadFrom(request: FastifyRequest): ThreadFrom {
  const given = lastEventId(request);
  if (given === '') return 'now';
  if (EVERYTHING.includes(given)) return 'kept';
  const position = parseThreadPosition(given);
  if (position) return position;
  throw unknownEvent(given, 'a thread');
}

/** Start of a reader of a run's output. @throws PublicError `bad_request` */
function readFrom(request: FastifyRequest): ReadFrom {
  const given = lastEventId(request);
  if (given === '') return { kind: 'now' };
  if (EVERYTHING.includes(given)) return { kind: 'kept' };
  const position = parsePosition(given);
  if (position) return { kind: 'after', position };
  throw unknownEvent(given, 'a run');
}

export interface RunRouteParts extends StreamParts, EraseParts, Pick<ThreadReadingParts, 'watch'> {
  readonly runs: RunService;
  readonly outputs: RunOutputs;
  readonly log: Logger;
}

type Begun = RunReader & {
  /** True when the run has ended. */
  readonly isEnded: boolean;
  begin(headers: Readonly<Record<string, string>>): void;
  /** Stops the answer: nothing is sent any more. */
  abandon(): void;
};

/** Parts that an answer needs of the run that it shows. */
interface Shown {
  readonly scope: Scope;
  readonly runId: string;
  readonly threadId: string;
  readonly stopReading: () => void;
  readonly path: string;
  readonly shouldCancel: boolean;
}

type Make = (reply: FastifyReply) => Begun;

/** Runs of one request: all are made at once. */
const MAX_BATCH = 1_000;

/** @throws PublicError `invalid` */
function wantedOf(request: FastifyRequest): RequestedRun {
  return hasPathPart(request, 'thread_id') ? parseRequestedRun(request.body) : parseOwnRun(request.body);
}

function pathOf({ run, isTemporary }: Pick<Submitted, 'run' | 'isTemporary'>): string {
  return isTemporary ? `/runs/${run.run_id}` : `/threads/${run.thread_id}/runs/${run.run_id}`;
}

function location(submitted: Submitted): Record<string, string> {
  return { 'content-location': pathOf(submitted) };
}

/** Query of a client that reconnects. */
interface Again {
  readonly shouldCancel: boolean;
  readonly modes?: readonly StreamMode[] | undefined;
}

/** Addresses at which the clients of both languages resume by themselves when the connection breaks. */
function locations(
  path: string,
  kind: RunReader['kind'],
  { shouldCancel, modes = [] }: Again,
): Record<string, string> {
  const query = new URLSearchParams();
  for (const mode of modes) query.append('stream_mode', mode);
  if (shouldCancel) query.set('cancel_on_disconnect', '1');
  const again = `${path}/${kind === 'output' ? 'stream' : 'join'}`;
  return { 'content-location': path, location: query.size > 0 ? `${again}?${query.toString()}` : again };
}

const runList = z.object({
  limit: z.coerce.number().int().min(1).max(1000).nullish(),
  offset: z.coerce.number().int().min(0).nullish(),
  status: z.enum(['pending', 'running', 'success', 'error', 'timeout', 'interrupted']).nullish(),
  select: z.preprocess(listOf, z.array(z.enum(RUN_FIELDS)).max(MAX_NAMES).nullish()),
});
const joinModes = z.object({
  stream_mode: z.preprocess(listOf, z.array(z.enum(STREAM_MODE_NAMES)).max(MAX_NAMES).nullish()),
});

const threadModes = z.object({
  stream_mode: z.preprocess(listOf, z.array(z.enum(THREAD_MODES)).max(MAX_NAMES).nullish()),
});

function modesOf(given: unknown): StreamMode[] | undefined {
  const { stream_mode: modes } = parseInput(joinModes, { stream_mode: given }, 'query');
  return modes && modes.length > 0 ? modes : undefined;
}

function askerOf(request: FastifyRequest, scope: Scope = scopeOf(request)): Asker {
  return {
    scope,
    threadId: threadIdOf(request),
    fields: callerFields(request),
    assistantScope: (assistantId) => authorize(request, 'assistants:read', { assistant_id: assistantId }),
    newThreadScope: newThreadScopeOf(request),
  };
}

/** Routes that make runs, wait for them, read them and end them. */
export class RunRoutes {
  /** Answers that wait for a run or show its output. */
  readonly #open = new Map<ServerResponse, Begun>();

  constructor(private readonly parts: RunRouteParts) {}

  register(app: FastifyInstance): void {
    for (const prefix of ['', '/threads/:thread_id']) {
      app.post(`${prefix}/runs`, access('threads:create_run'), (request, reply) =>
        this.#create(request, reply),
      );
      app.post(`${prefix}/runs/wait`, access('threads:create_run'), (request, reply) =>
        this.#attached(request, reply, ({ raw }) => new WaitingReply(raw, this.parts)),
      );
      app.post(`${prefix}/runs/stream`, access('threads:create_run'), (request, reply) =>
        this.#attached(request, reply, ({ raw }) => new EventStream(raw, this.parts)),
      );
      app.get(`${prefix}/runs/:run_id`, access('threads:read'), async (request, reply) => {
        const [runId, threadId] = [pathId(request, 'run_id'), threadIdOf(request)];
        return asJson(reply, await this.parts.runs.describe(scopeOf(request), runId, threadId));
      });
      app.get(`${prefix}/runs/:run_id/join`, access('threads:read'), (request, reply) =>
        this.#joined(request, reply, new WaitingReply(reply.raw, this.parts)),
      );
      app.get(`${prefix}/runs/:run_id/stream`, access('threads:read'), (request, reply) => {
        const modes = modesOf(queryOf(request)['stream_mode']);
        return this.#joined(request, reply, new EventStream(reply.raw, this.parts, modes), modes);
      });
    }
    registerCancelRoutes(app, this.parts);
    app.post('/runs/batch', access('any'), (request) => this.#createAll(request));
    app.get('/threads/:thread_id/runs', access('threads:search'), async (request, reply) =>
      asJson(reply, await this.#list(request)),
    );
    app.get('/threads/:thread_id/stream', access('threads:read'), (request, reply) =>
      this.#joinedThread(request, reply),
    );
    app.delete('/threads/:thread_id/runs/:run_id', access('threads:delete'), async (request, reply) => {
      const [runId, threadId] = [pathId(request, 'run_id'), pathId(request, 'thread_id')];
      await this.parts.runs.get(scopeOf(request), runId, threadId);
      await eraseRun(request, this.parts, scopeOf(request), { runId, threadId });
      return reply.code(204).send();
    });
  }

  /** Inputs of runs are texts of any length. */
  async #list(request: FastifyRequest): Promise<string | Buffer> {
    const { sql } = this.parts;
    const { select, status, ...page } = parseInput(runList, request.query, 'query');
    const fields = select && select.length > 0 ? select : RUN_FIELDS;
    const [scope, threadId] = [scopeOf(request), pathId(request, 'thread_id')];
    const wanted = { ...pageOf(page), status: status ?? undefined, fields };
    return sql.lookInto(scope, async () => {
      const runs: string[] = [];
      for (const row of await listRuns(scope, sql, threadId, wanted))
        runs.push(await inTurns(runText(row, fields), scope.left));
      // the thread has no such runs, or none that the caller may see
      if (runs.length === 0) await getThreadHead(scope, sql, threadId);
      return jsonList(runs);
    });
  }

  async #create(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const wanted = wantedOf(request);
    const submitted = await this.parts.runs.submit(askerOf(request), wanted);
    return reply.headers(location(submitted)).send(submitted.run);
  }

  async #createAll(request: FastifyRequest): Promise<unknown> {
    if (!Array.isArray(request.body)) throw new PublicError('bad_request', 'The body must be a list of runs');
    if (request.body.length > MAX_BATCH)
      throw new PublicError('too_large', `A batch can have at most ${MAX_BATCH} runs`);
    request.body.forEach(parseOwnRun); // all are checked before anything is asked or made
    const orders: RunOrder[] = [];
    for (const body of request.body) {
      const scope = await authorizeRun(request, body, undefined);
      orders.push({ asker: askerOf(request, scope), request: parseOwnRun(body) });
    }
    return this.parts.runs.submitAll(orders);
  }

  /** Makes a run whose output goes into this answer. */
  async #attached(request: FastifyRequest, reply: FastifyReply, make: Make): Promise<unknown> {
    const wanted = wantedOf(request);
    const reader = make(reply);
    let submitted: Submitted;
    try {
      submitted = await this.parts.runs.submit(askerOf(request), wanted, reader);
    } catch (error) {
      reader.abandon();
      throw error;
    }
    reply.hijack();
    dropBody(request);
    const { run, isTemporary, stopReading } = submitted;
    this.#show(reply, reader, {
      scope: scopeOf(request),
      runId: run.run_id,
      threadId: run.thread_id,
      stopReading,
      path: pathOf({ run, isTemporary }),
      shouldCancel: wanted.on_disconnect === 'cancel',
    });
    return reply;
  }

  /** Begins the answer of a request that made a run; holds nothing of the request. */
  #show(
    reply: FastifyReply,
    reader: Begun,
    { scope, runId, threadId, stopReading, path, shouldCancel }: Shown,
  ): void {
    this.#leaveOnClose(reply, reader, stopReading, () =>
      shouldCancel ? this.parts.runs.cancel(scope, runId, threadId, 'interrupt', CLIENT_LEFT) : undefined,
    );
    reader.begin(locations(path, reader.kind, { shouldCancel }));
  }

  async #joined(
    request: FastifyRequest,
    reply: FastifyReply,
    reader: Begun,
    modes?: readonly StreamMode[],
  ): Promise<unknown> {
    const [runId, threadId] = [pathId(request, 'run_id'), threadIdOf(request)];
    const shouldCancel = [queryOf(request)['cancel_on_disconnect']]
      .flat()
      .some((given) => ['1', 'true'].includes(String(given)));
    const asked = { thread_id: threadId, action: 'interrupt', metadata: { run_ids: [runId] } };
    const toCancel = shouldCancel ? await authorize(request, 'threads:update', asked) : undefined;
    let stopReading: () => void;
    try {
      stopReading = await this.parts.outputs.read(
        scopeOf(request),
        runId,
        threadId,
        reader,
        readFrom(request),
      );
    } catch (error) {
      reader.abandon();
      throw error;
    }
    reply.hijack();
    this.#leaveOnClose(reply, reader, stopReading, async () => {
      if (!toCancel) return;
      const run = await this.parts.runs.get(toCancel, runId, threadId);
      await this.parts.runs.cancel(toCancel, run.runId, run.threadId, 'interrupt', CLIENT_LEFT);
    });
    const path = threadId === undefined ? `/runs/${runId}` : `/threads/${threadId}/runs/${runId}`;
    reader.begin(locations(path, reader.kind, { shouldCancel, modes }));
    return reply;
  }

  /** Reads all runs of a thread, future ones too. */
  async #joinedThread(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const of = { scope: scopeOf(request), threadId: pathId(request, 'thread_id') };
    const wanted = threadReadFrom(request);
    const { stream_mode: given } = parseInput(
      threadModes,
      { stream_mode: queryOf(request)['stream_mode'] },
      'query',
    );
    const modes = new Set(given && given.length > 0 ? given : (['run_modes'] as const));
    await getThreadHead(of.scope, this.parts.sql, of.threadId);
    const stream = new EventStream(reply.raw, this.parts);
    let reading: ThreadReading;
    try {
      reading = await ThreadReading.open(of, { modes, wanted }, () => stream.more(), this.parts);
    } catch (error) {
      stream.abandon();
      throw error;
    }
    stream.attach(reading);
    reply.hijack();
    this.#leaveOnClose(
      reply,
      stream,
      () => reading.close(),
      () => undefined,
    );
    const query = new URLSearchParams([...modes].map((mode): [string, string] => ['stream_mode', mode]));
    askAgain(request, reply.raw, () => reply.raw.destroy(), this.parts);
    stream.begin({ location: `/threads/${of.threadId}/stream?${query.toString()}` });
    return reply;
  }

  #leaveOnClose(
    { raw }: FastifyReply,
    reader: Begun,
    stopReading: () => void,
    onLeft: () => Promise<void> | undefined,
  ): void {
    const left = (): void => {
      this.#open.delete(raw);
      stopReading();
      if (!reader.isEnded) void onLeft()?.catch(() => undefined); // it ended in the meantime
    };
    if (raw.destroyed) return left();
    this.#open.set(raw, reader);
    raw.on('close', left);
  }

  /** True while a client waits for the result of a run. */
  get isAwaited(): boolean {
    return [...this.#open.values()].some(({ kind, isEnded }) => kind === 'result' && !isEnded);
  }

  /** Cuts off readers and waiters: their runs will end at another server. */
  stop(): void {
    for (const [response, reader] of this.#open) if (!reader.isEnded) response.destroy();
  }
}

/** Shapes of requests, for the description of the routes. */
export const RUN_SHAPES = { runList, joinModes, threadModes };
