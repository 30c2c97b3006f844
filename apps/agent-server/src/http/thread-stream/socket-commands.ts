import { z } from 'zod';
import { errorText, PublicError } from '#lib/errors';
import { isJsonObject, type JsonObject } from '#lib/json';
import type { Logger } from '#lib/telemetry';
import { AuthRefusal } from '../../authorization/auth-user.js';
import type { Scope } from '../../store/scope.js';
import { publicErrorOf } from '../http-server.js';
import { parseJsonBody } from '../json-body.js';
import { CommandError, renderSuccess } from './command-error.js';
import { command, parse, type Command, type Commander, type ThreadCommands } from './commands.js';
import { EventFilter, eventRequest } from './subscription.js';
import type { ThreadFeed } from './thread-feed.js';

/** Limit per connection. */
const MAX_SUBSCRIPTIONS = 200;

/**
 * Limit for the channels and prefixes of all of them: they are kept for as long as a reader that does nothing
 * stays.
 */
const MAX_HELD_BYTES = 2 * 1024 * 1024;

const subscribe = z.looseObject(eventRequest.shape);
const unsubscribe = z.looseObject({ subscription_id: z.string().max(100) });

export interface SocketCommandParts {
  readonly commands: ThreadCommands;
  readonly feed: ThreadFeed;
  /** Client that gives the commands, determined anew for each: keys expire while connections last. */
  readonly commander: () => Promise<Commander>;
  /** Sets the scope under which events are read from now on. */
  readonly readUnder: (scope: Scope) => void;
  readonly log: Logger;
}

/** The commands of one WebSocket of a thread: those of every transport, and its subscriptions. */
export class SocketCommands {
  #subscriptions = 0;

  constructor(private readonly parts: SocketCommandParts) {}

  /** The answer to a message as JSON text; undefined when its sender may give no commands any more. */
  async answer(message: Buffer): Promise<string | undefined> {
    const given = await parsed(message);
    if ('refusal' in given) return JSON.stringify(given.refusal);
    const { id } = given;
    try {
      const commander = await this.parts.commander();
      const result = await this.#perform(commander, given);
      return renderSuccess(id, result, commander.threadId);
    } catch (error) {
      return isUnauthenticated(error) ? undefined : JSON.stringify(this.#refusal(id, error));
    }
  }

  async #perform(commander: Commander, given: Command): Promise<string> {
    const { method, params = {} } = given;
    switch (method) {
      case 'subscription.subscribe':
        return JSON.stringify(await this.#subscribe(commander, parse(subscribe, params)));
      case 'subscription.unsubscribe':
        return JSON.stringify(this.#unsubscribe(parse(unsubscribe, params)));
      case 'subscription.reconnect':
        // subscriptions end with their connection
        return '{"restored":false}';
      default: {
        const result = await this.parts.commands.perform(commander, given);
        if (result !== undefined) return result;
        throw new CommandError('unknown_command', `There is no command ${JSON.stringify(method)}`);
      }
    }
  }

  async #subscribe(
    commander: Commander,
    { since, ...wanted }: z.infer<typeof subscribe>,
  ): Promise<JsonObject> {
    const { feed, readUnder } = this.parts;
    if (feed.size >= MAX_SUBSCRIPTIONS)
      throw new CommandError(
        'invalid_argument',
        `This connection has ${MAX_SUBSCRIPTIONS} subscriptions, the most there may be; end some by subscription.unsubscribe, or name several channels and namespaces in one`,
      );
    const filter = new EventFilter(wanted);
    if (feed.heldBytes + filter.heldBytes > MAX_HELD_BYTES)
      throw new CommandError(
        'invalid_argument',
        `The channels and namespaces of all subscriptions of this connection would take ${feed.heldBytes + filter.heldBytes} bytes, and ${MAX_HELD_BYTES} is the most; end some by subscription.unsubscribe, or subscribe to prefixes that they share`,
      );
    readUnder(await commander.authorizeRead());
    const id = `subscription-${++this.#subscriptions}`;
    feed.subscribe(id, filter, since ?? undefined);
    return { subscription_id: id };
  }

  #unsubscribe({ subscription_id: id }: z.infer<typeof unsubscribe>): JsonObject {
    if (this.parts.feed.unsubscribe(id)) return {};
    throw new CommandError(
      'no_such_subscription',
      `This connection has no subscription ${JSON.stringify(id)}; subscriptions end with their connection`,
    );
  }

  #refusal(id: number, error: unknown): JsonObject {
    if (error instanceof CommandError) return refusal(id, error.code, error.message);
    if (error instanceof AuthRefusal) return refusal(id, 'permission_denied', String(error.detail));
    const shown = publicErrorOf(error);
    if (shown?.code === 'forbidden') return refusal(id, 'permission_denied', shown.message);
    if (shown) {
      this.parts.log.warn({ error: errorText(error) }, 'command of a thread failed');
      return refusal(id, 'unknown_error', shown.message);
    }
    this.parts.log.error({ err: error }, 'command of a thread failed');
    return refusal(id, 'unknown_error', 'Internal server error');
  }
}

function isUnauthenticated(error: unknown): boolean {
  if (error instanceof AuthRefusal) return error.status === 401;
  return error instanceof PublicError && error.code === 'unauthenticated';
}

function refusal(id: number | null, error: string, message: string): JsonObject {
  return { type: 'error', id, error, message };
}

async function parsed(message: Buffer): Promise<Command | { readonly refusal: JsonObject }> {
  let given: unknown;
  try {
    given = await parseJsonBody(message);
  } catch (error) {
    return { refusal: refusal(null, 'invalid_argument', `The message cannot be read: ${whyOf(error)}`) };
  }
  const found = command.safeParse(given);
  if (found.success) return found.data;
  const id = isJsonObject(given) && typeof given['id'] === 'number' ? given['id'] : null;
  const [issue] = found.error.issues;
  const where = issue?.path.join('.') ?? '';
  return {
    refusal: refusal(
      id,
      'invalid_argument',
      `The message is not a command: ${where === '' ? '' : `${where}: `}${issue?.message ?? 'is not valid'}`,
    ),
  };
}

function whyOf(error: unknown): string {
  const [problem] = error instanceof PublicError ? error.problems : [];
  return problem ? `${problem.loc.slice(1).join('.')} ${problem.msg}`.trim() : errorText(error);
}
