import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#lib/telemetry';
import { parseBody } from '../run/request-shapes.js';
import { ProtocolReading, type ProtocolReadingParts } from '../run/protocol-reading.js';
import { callerFields } from './caller-fields.js';
import { authorize, authorizeRun, scopeOf } from './caller-scope.js';
import { EventStream, type StreamParts } from './event-stream.js';
import { pathId } from './request-parts.js';
import { access } from './route-access.js';
import { CommandError } from './thread-stream/command-error.js';
import { command, ThreadCommands, type Commander, type CommandParts } from './thread-stream/commands.js';
import { eventRequest, EventFilter } from './thread-stream/subscription.js';
import type { EventAddress } from '../stream/thread-protocol.js';
import { ThreadFrames } from './thread-stream/thread-frames.js';

export interface ThreadStreamParts extends StreamParts, CommandParts, Omit<ProtocolReadingParts, 'runs'> {
  readonly log: Logger;
}

/**
 * The thread stream protocol: clients of LangGraph since 2026 give commands to a thread and read what all of its runs
 * say, instead of one run's output.
 */
export class ThreadStreamRoutes {
  readonly #commands: ThreadCommands;
  readonly #open = new Set<ServerResponse>();

  constructor(private readonly parts: ThreadStreamParts) {
    this.#commands = new ThreadCommands(parts);
  }

  register(app: FastifyInstance): void {
    app.post('/threads/:thread_id/commands', access('any'), (request) => this.#command(request));
    app.post('/threads/:thread_id/stream/events', access('threads:read'), (request, reply) =>
      this.#events(request, reply),
    );
  }

  /** Cuts off readers: they go on at another server. */
  stop(): void {
    for (const response of this.#open) response.destroy();
  }

  async #command(request: FastifyRequest): Promise<unknown> {
    const given = parseBody(command, request.body);
    const commander = commanderOf(request);
    const meta = { thread_id: commander.threadId };
    try {
      const result = await this.#commands.perform(commander, given);
      if (result) return { type: 'success', id: given.id, result, meta };
      throw new CommandError(
        'unknown_command',
        `Over HTTP there is no command ${JSON.stringify(given.method)}`,
      );
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      return { type: 'error', id: given.id, error: error.code, message: error.message, meta };
    }
  }

  async #events(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { since, ...wanted } = parseBody(eventRequest, request.body);
    const filter = new EventFilter(wanted);
    const thread = {
      scope: scopeOf(request),
      threadId: pathId(request, 'thread_id'),
      since: since ?? undefined,
      wants: (address: EventAddress) => filter.wants(address),
    };
    const stream = new EventStream(reply.raw, this.parts);
    stream.attach(new ThreadFrames(new ProtocolReading(thread, () => stream.more(), this.parts)));
    reply.hijack();
    // a client that left before has closed it already
    if (!reply.raw.destroyed) this.#open.add(reply.raw);
    reply.raw.on('close', () => this.#open.delete(reply.raw));
    stream.begin({});
    return reply;
  }
}

function commanderOf(request: FastifyRequest): Commander {
  const threadId = pathId(request, 'thread_id');
  return {
    threadId,
    fields: callerFields(request),
    assistantScope: (assistantId) => authorize(request, 'assistants:read', { assistant_id: assistantId }),
    authorizeRun: (body) => authorizeRun(request, body, threadId),
    authorizeRead: () => authorize(request, 'threads:read', { thread_id: threadId }),
  };
}

/** What requests bring, for the description of the routes. */
export const THREAD_STREAM_SHAPES = { command, eventRequest };
