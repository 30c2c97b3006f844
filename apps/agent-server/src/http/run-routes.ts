import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { PublicError } from '#lib/errors';
import type { Clock } from '#lib/time';
import type { RunReader } from '../run/run-feed.js';
import { parseInput } from '../run/request-shapes.js';
import { parseRunRequest, type RunRequest } from '../run/run-request.js';
import type { RunService, Submitted } from '../run/run-service.js';
import type { RunRecords } from '../store/run-records.js';
import { STREAM_MODE_NAMES, type StreamMode } from '../stream/stream-modes.js';
import { callerFields } from './caller-fields.js';
import { EventStream } from './event-stream.js';
import { pageOf, pathId, queryOf } from './request-parts.js';
import { WaitingReply } from './waiting-reply.js';

export interface RunRouteParts {
  readonly runs: RunService;
  readonly records: RunRecords;
  readonly clock: Clock;
}

interface Begun extends RunReader {
  begin(headers: Readonly<Record<string, string>>): void;
}

type Make = (reply: FastifyReply, request: RunRequest) => Begun;

function location({ run, isTemporary }: Submitted): Record<string, string> {
  return {
    'content-location': isTemporary ? `/runs/${run.run_id}` : `/threads/${run.thread_id}/runs/${run.run_id}`,
  };
}

const runList = z.object({
  limit: z.coerce.number().int().min(1).max(1000).nullish(),
  offset: z.coerce.number().int().min(0).nullish(),
  status: z.enum(['pending', 'running', 'success', 'error', 'timeout', 'interrupted']).nullish(),
});
const joinModes = z.object({ stream_mode: z.array(z.enum(STREAM_MODE_NAMES)) });

/** Stream modes of a join: one, repeated, or a JSON array, as the client lines differ. */
function modesOf(given: unknown): StreamMode[] | undefined {
  const modes = [given].flat().flatMap((mode): unknown => {
    if (typeof mode !== 'string' || mode === '') return [];
    return mode.startsWith('[') ? parseModes(mode) : mode;
  });
  if (modes.length === 0) return undefined;
  return parseInput(joinModes, { stream_mode: modes }, 'query').stream_mode;
}

function parseModes(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new PublicError('invalid', 'stream_mode is not a JSON array', [
      { loc: ['query', 'stream_mode'], msg: 'must be a mode or a JSON array of modes', type: 'json_invalid' },
    ]);
  }
}

function threadIdOf(request: FastifyRequest): string | undefined {
  return 'thread_id' in (request.params as object) ? pathId(request, 'thread_id') : undefined;
}

/** Routes that make runs, wait for them, read them and end them. */
export class RunRoutes {
  /** Answers that wait for a run or show its output. */
  readonly #open = new Set<ServerResponse>();

  constructor(private readonly parts: RunRouteParts) {}

  register(app: FastifyInstance): void {
    for (const prefix of ['', '/threads/:thread_id']) {
      app.post(`${prefix}/runs`, (request, reply) => this.#create(request, reply));
      app.post(`${prefix}/runs/wait`, (request, reply) =>
        this.#attached(request, reply, ({ raw }) => new WaitingReply(raw, this.parts.clock)),
      );
      app.post(`${prefix}/runs/stream`, (request, reply) =>
        this.#attached(request, reply, ({ raw }) => new EventStream(raw, this.parts.clock)),
      );
      app.get(`${prefix}/runs/:run_id`, async (request) => {
        return (await this.parts.runs.get(pathId(request, 'run_id'), threadIdOf(request))).wire;
      });
      app.get(`${prefix}/runs/:run_id/join`, (request, reply) =>
        this.#joined(request, reply, new WaitingReply(reply.raw, this.parts.clock)),
      );
      app.get(`${prefix}/runs/:run_id/stream`, (request, reply) => {
        const modes = modesOf(queryOf(request)['stream_mode']);
        return this.#joined(request, reply, new EventStream(reply.raw, this.parts.clock, modes));
      });
      app.post(`${prefix}/runs/:run_id/cancel`, (request, reply) => this.#cancel(request, reply));
    }
    app.post('/runs/batch', (request) => this.#createAll(request));
    app.get('/threads/:thread_id/runs', async (request) => {
      const query = parseInput(runList, request.query, 'query');
      return this.parts.records.list(pathId(request, 'thread_id'), {
        ...pageOf(query),
        status: query.status ?? undefined,
      });
    });
    app.delete('/threads/:thread_id/runs/:run_id', async (request, reply) => {
      const [runId, threadId] = [pathId(request, 'run_id'), pathId(request, 'thread_id')];
      await this.parts.runs.get(runId, threadId);
      if (!(await this.parts.records.remove(runId, threadId)))
        throw new PublicError('conflict', `Run ${runId} is active: cancel it first`);
      return reply.code(204).send();
    });
  }

  async #create(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const submitted = await this.parts.runs.submit(
      parseRunRequest(request.body),
      threadIdOf(request),
      callerFields(request.headers, request.caller),
    );
    return reply.headers(location(submitted)).send(submitted.run);
  }

  async #createAll(request: FastifyRequest): Promise<unknown> {
    if (!Array.isArray(request.body)) throw new PublicError('bad_request', 'The body must be a list of runs');
    const wanted = request.body.map(parseRunRequest); // all are looked at before the first is made
    const caller = callerFields(request.headers, request.caller);
    const made = await Promise.all(wanted.map((run) => this.parts.runs.submit(run, undefined, caller)));
    return made.map(({ run }) => run);
  }

  /** Makes a run whose output goes into this answer. */
  async #attached(request: FastifyRequest, reply: FastifyReply, make: Make): Promise<unknown> {
    const wanted = parseRunRequest(request.body);
    const reader = make(reply, wanted);
    let submitted: Submitted;
    try {
      const caller = callerFields(request.headers, request.caller);
      submitted = await this.parts.runs.submit(wanted, threadIdOf(request), caller, reader);
    } catch (error) {
      reader.ended({ body: '' }); // nothing was sent: only its timer ends
      throw error;
    }
    reply.hijack();
    this.#leaveOnClose(reply, submitted.stopReading, () =>
      wanted.on_disconnect === 'cancel' ? this.#cancelLeft(submitted) : undefined,
    );
    reader.begin(location(submitted));
    return reply;
  }

  async #joined(request: FastifyRequest, reply: FastifyReply, reader: Begun): Promise<unknown> {
    const [runId, threadId] = [pathId(request, 'run_id'), threadIdOf(request)];
    let stopReading: () => void;
    try {
      stopReading = await this.parts.runs.read(runId, threadId, reader);
    } catch (error) {
      reader.ended({ body: '' });
      throw error;
    }
    reply.hijack();
    const shouldCancel = ['1', 'true'].includes(String(queryOf(request)['cancel_on_disconnect']));
    this.#leaveOnClose(reply, stopReading, async () => {
      if (shouldCancel) await this.#cancelLeft({ run: (await this.parts.runs.get(runId, threadId)).wire });
    });
    reader.begin({});
    return reply;
  }

  #leaveOnClose(
    { raw }: FastifyReply,
    stopReading: () => void,
    onLeft: () => Promise<void> | undefined,
  ): void {
    const left = (): void => {
      this.#open.delete(raw);
      stopReading();
      if (!raw.writableEnded) void onLeft()?.catch(() => undefined); // it ended in the meantime
    };
    if (raw.destroyed) return left();
    this.#open.add(raw);
    raw.on('close', left);
  }

  /** Cuts off whoever still waits for the end of a run, which will come at another server. */
  stop(): void {
    for (const response of this.#open) if (!response.writableEnded) response.destroy();
  }

  #cancelLeft({ run }: Pick<Submitted, 'run'>): Promise<void> {
    return this.parts.runs.cancel(run.run_id, run.thread_id, 'interrupt');
  }

  async #cancel(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const runId = pathId(request, 'run_id');
    const { wait, action = 'interrupt' } = queryOf(request);
    if (action !== 'interrupt' && action !== 'rollback')
      throw new PublicError('bad_request', 'action must be interrupt or rollback');
    const threadId = threadIdOf(request) ?? (await this.parts.runs.get(runId)).wire.thread_id;
    const shouldWait = wait === '1' || wait === 'true';
    // Reading begins before the run can be gone
    const ended = shouldWait ? this.parts.runs.wait(runId, threadId) : Promise.resolve();
    ended.catch(() => undefined);
    await this.parts.runs.cancel(runId, threadId, action);
    await ended;
    return reply.code(shouldWait ? 204 : 202).send(shouldWait ? undefined : {});
  }
}
