import { badRequest, type KubeObject } from '#lib/kube-semantics';
import type { HeldAnswers } from '../http/held-answers.js';
import { type Handler, json, type Reply, type RequestContext } from '../http/request-context.js';
import type { RequestInfo } from '../http/request-info.js';
import { asObject, readObject } from '../registry/body.js';

/** Reads the body of a request that is answered and not stored. */
export async function readReview(
  context: RequestContext,
  apiVersion: string,
  kind: string,
): Promise<KubeObject> {
  const body = await readObject(context);
  if (!body) throw badRequest('the request body is empty');
  return asObject(body, { apiVersion, kind });
}

/** Answers one resource or subresource that is not simply stored. */
export interface SubresourceHandler {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Empty for a resource of its own. */
  readonly subresource: string;
  readonly handle: Handler;
}

/** Finds who answers a path that is not simply stored. */
export class SubresourceHandlers {
  readonly #handlers = new Map<string, Handler>();

  constructor(
    handlers: readonly SubresourceHandler[],
    private readonly answers: HeldAnswers,
  ) {
    for (const handler of handlers) this.#handlers.set(keyOf(handler), handler.handle);
  }

  find(info: RequestInfo): Handler | undefined {
    const handle = this.#handlers.get(keyOf(info));
    return handle && (async (context) => this.#counted(context, await handle(context)));
  }

  /**
   * Counts the response to a review: it repeats the whole request, megabytes of it, and the client may leave
   * it unread.
   * @throws ApiError 429, 504 where something was written
   */
  #counted(context: RequestContext, reply: Reply): Reply {
    if (reply.kind !== 'json') return reply;
    const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body);
    if (context.info.verb === 'update') this.answers.beginOfWrite(context, text.length);
    else this.answers.begin(context, text.length);
    return json(text, reply.code);
  }
}

function keyOf({
  group,
  version,
  resource,
  subresource,
}: Pick<RequestInfo, 'group' | 'version' | 'resource' | 'subresource'>): string {
  return `${group}/${version}/${resource}/${subresource}`;
}
