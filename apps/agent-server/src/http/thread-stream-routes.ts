import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Admission } from '#lib/admission';
import type { Logger } from '#lib/telemetry';
import type { Scope } from '../store/scope.js';
import { parseBody } from '../run/requested-run.js';
import { ProtocolReading, type ProtocolReadingParts } from '../run/protocol-reading.js';
import { dropBody } from './body-turns.js';
import { callerFields } from './caller-fields.js';
import { authorize, authorizeRun, scopeOf, newThreadScopeOf } from './caller-scope.js';
import { EventStream, type StreamParts } from './event-stream.js';
import { pathId } from './request-parts.js';
import { access } from './route-access.js';
import { asJson } from './search-answer.js';
import { askAgain } from './ask-again.js';
import { isUpgrade, openSocket } from './socket-upgrades.js';
import type { WebSocket } from 'ws';
import { CommandError, renderSuccess } from './thread-stream/command-error.js';
import { command, ThreadCommands, type Commander, type CommandParts } from './thread-stream/commands.js';
import { eventRequest, EventFilter } from './thread-stream/subscription.js';
import type { EventAddress } from '../stream/thread-protocol.js';
import { SocketCommands } from './thread-stream/socket-commands.js';
import { ThreadFeed, ThreadFrames } from './thread-stream/thread-feed.js';
import { ThreadSocket } from './thread-stream/thread-socket.js';

export interface ThreadStreamParts extends StreamParts, CommandParts, Omit<ProtocolReadingParts, 'outputs'> {
  readonly log: Logger;
}

/**
 * Limit, for all clients together, of WebSocket messages that are incomplete or queue behind earlier
 * commands.
 */
const MAX_ARRIVING_BYTES = 256 * 1024 * 1024;

/**
 * The thread stream protocol: clients of LangGraph since 2026 give commands to a thread and read the output
 * of all of its runs, instead of one run's output.
 */
export class ThreadStreamRoutes {
  readonly #commands: ThreadCommands;
  readonly #open = new Set<ServerResponse>();
  readonly #sockets = new Set<ThreadSocket>();
  readonly #room = new Admission({
    capacity: MAX_ARRIVING_BYTES,
    halves: true,
    refusal: 'Too many large messages arrive at once; try again',
  });

  constructor(private readonly parts: ThreadStreamParts) {
    this.#commands = new ThreadCommands(parts);
  }

  register(app: FastifyInstance): void {
    app.post('/threads/:thread_id/commands', access('any'), (request, reply) =>
      this.#command(request, reply),
    );
    app.post('/threads/:thread_id/stream/events', access('threads:read'), (request, reply) =>
      this.#events(request, reply),
    );
    app.get('/threads/:thread_id/stream/events', access('threads:read'), (request, reply) =>
      this.#socket(request, reply),
    );
  }

  /** Cuts off readers: they continue at another server. */
  stop(): void {
    for (const response of this.#open) response.destroy();
    for (const socket of this.#sockets) socket.stop();
  }

  async #command(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const given = parseBody(command, request.body);
    const commander = commanderOf(request);
    const meta = { thread_id: commander.threadId };
    try {
      const result = await this.#commands.perform(commander, given);
      if (result !== undefined)
        return await asJson(reply, renderSuccess(given.id, result, commander.threadId));
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
    dropBody(request);
    // a client that left before has closed it already
    if (!reply.raw.destroyed) this.#open.add(reply.raw);
    reply.raw.on('close', () => this.#open.delete(reply.raw));
    askAgain(request, reply.raw, () => reply.raw.destroy(), this.parts);
    stream.begin({});
    return reply;
  }

  async #socket(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const threadId = pathId(request, 'thread_id');
    if (!isUpgrade(request.raw))
      return reply.code(426).headers({ upgrade: 'websocket', connection: 'upgrade' }).send({
        detail:
          'This path is a WebSocket: connect with Upgrade: websocket, or POST a subscription to it for server-sent events',
      });
    const isPassed = request.raw.headers.upgrade === undefined;
    if (!isPassed) reply.hijack();
    openSocket(request.raw, (socket, response) => this.#opened(socket, request, response, threadId));
    // the agent's HTTP app, which passed the request on, learns that it was answered
    return isPassed ? reply.code(204).send() : reply;
  }

  #opened(socket: WebSocket, request: FastifyRequest, raw: ServerResponse, threadId: string): void {
    let scope: Scope = scopeOf(request);
    const more = (): void => connection.more();
    const feed = new ThreadFeed((from) => {
      const thread = { ...from, scope, threadId };
      return new ProtocolReading(thread, more, this.parts);
    }, more);
    const commands = new SocketCommands({
      commands: this.#commands,
      feed,
      commander: async () => {
        request.caller = await request.server.callerOf(request);
        return commanderOf(request);
      },
      readUnder: (given) => (scope = given),
      log: this.parts.log,
    });
    const parts = { ...this.parts, room: this.#room, owner: request.caller?.identity };
    const connection = new ThreadSocket(socket, raw, feed, (message) => commands.answer(message), parts);
    this.#sockets.add(connection);
    askAgain(request, raw, () => connection.refuse(), this.parts);
    socket.once('close', () => this.#sockets.delete(connection));
  }
}

function commanderOf(request: FastifyRequest): Commander {
  const threadId = pathId(request, 'thread_id');
  return {
    threadId,
    fields: callerFields(request),
    assistantScope: (assistantId) => authorize(request, 'assistants:read', { assistant_id: assistantId }),
    newThreadScope: newThreadScopeOf(request),
    authorizeRun: (body) => authorizeRun(request, body, threadId),
    authorizeRead: () => authorize(request, 'threads:read', { thread_id: threadId }),
  };
}

/** Shapes of requests, for the description of the routes. */
export const THREAD_STREAM_SHAPES = { command, eventRequest };
