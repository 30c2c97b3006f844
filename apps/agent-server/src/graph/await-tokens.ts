import { isJsonObject } from '#lib/json';
import { libraryCopies } from './library-copies.js';

/** Handler that turns tokens of models into chunks of a stream. */
const TOKEN_HANDLER = 'StreamMessagesHandler';

interface Handler {
  readonly name?: unknown;
  awaitHandlers?: unknown;
}

type AddHandler = (this: unknown, handler: Handler, ...rest: unknown[]) => unknown;

function isAddHandler(value: unknown): value is AddHandler {
  return typeof value === 'function';
}

const overridden = new WeakSet<object>();

function overrideManager(module: unknown): void {
  const manager: unknown = isJsonObject(module) ? module['CallbackManager'] : undefined;
  const prototype: unknown = typeof manager === 'function' ? manager.prototype : undefined;
  if (typeof prototype !== 'object' || prototype === null || overridden.has(prototype)) return;
  const original: unknown = Reflect.get(prototype, 'addHandler');
  if (!isAddHandler(original)) return;
  overridden.add(prototype);
  const addHandler: AddHandler = function (handler, ...rest) {
    if (handler.name === TOKEN_HANDLER) handler.awaitHandlers = true;
    return original.call(this, handler, ...rest);
  };
  Reflect.set(prototype, 'addHandler', addHandler);
}

/**
 * Lets a model continue only once its token is in the stream. By default the library puts tokens into one
 * queue of the process, from which they are streamed one at a time; a graph does not wait for it at its end,
 * and tokens still in the queue are lost: with eight runs at once of a model that answers without pauses,
 * most tokens are. (The handler of its newer protocol waits, and so did its old default;
 * `LANGCHAIN_CALLBACKS_BACKGROUND=false` would also hold each run until its trace was sent.)
 * @param agentFile a file of the agent, whose copy of the library is meant
 */
export async function awaitTokens(agentFile: string): Promise<void> {
  for (const module of await libraryCopies(agentFile, '@langchain/core', './callbacks/manager'))
    overrideManager(module);
}
