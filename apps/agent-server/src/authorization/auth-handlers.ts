import { isJsonObject, type JsonObject } from '#lib/json';

/** Arguments of a handler for a resource or an action. */
export interface AuthorizationCall {
  /** `resource:action` */
  readonly event: string;
  readonly resource: string;
  readonly action: string;
  /** Value of the request. Handlers may change it, as in `value.metadata.owner = user.identity`. */
  readonly value: JsonObject;
  readonly permissions: readonly string[];
  readonly user: JsonObject;
}

/** Fields of a request beyond those of `Request`, which resolves its address. */
export interface AskedRoute {
  /** Path and query as they were sent. */
  readonly target: string;
  /** Parts of the path, by their names in the route. */
  readonly params: JsonObject;
}

type Authenticate = (request: Request, route: AskedRoute, signal: AbortSignal) => unknown;
type Authorize = (call: AuthorizationCall, signal: AbortSignal, isStudio: boolean) => unknown;

/** The handlers of an agent's `Auth`; the object itself may come from another copy of the SDK than the server's. */
export interface AuthHandlers {
  readonly authenticate: Authenticate | undefined;
  /** Handlers by event: `resource:action`, `resource`, `*:action` or `*`. */
  readonly callbacks: ReadonlyMap<string, Authorize>;
}

function isHandler(value: unknown): value is (...given: unknown[]) => unknown {
  return typeof value === 'function';
}

/**
 * Reads an export of a module as an `Auth` of `@langchain/langgraph-sdk/auth`.
 * @throws Error with a description of the export
 */
export function authHandlersOf(exported: unknown): AuthHandlers {
  const cache: unknown =
    typeof exported === 'object' && exported !== null ? Reflect.get(exported, '~handlerCache') : undefined;
  if (!isJsonObject(cache)) throw new Error('it is not an instance of Auth of @langchain/langgraph-sdk/auth');
  const { authenticate, callbacks = {} } = cache;
  if (authenticate !== undefined && !isHandler(authenticate))
    throw new Error('its authenticate is not a function');
  if (authenticate === undefined && Object.keys(callbacks ?? {}).length === 0)
    throw new Error('it has no handler; call authenticate or on of the Auth');
  const found = new Map<string, Authorize>();
  for (const [event, callback] of Object.entries(callbacks ?? {})) {
    if (!isHandler(callback)) throw new Error(`its handler on "${event}" is not a function`);
    found.set(event, callback);
  }
  return { authenticate, callbacks: found };
}

/** The one handler that decides: the most particular. */
export function findCallback({ callbacks }: AuthHandlers, event: string): Authorize | undefined {
  const [resource = '', action = ''] = event.split(':');
  for (const name of [event, resource, `*:${action}`, '*']) {
    const found = callbacks.get(name);
    if (found) return found;
  }
  return undefined;
}
