import type { Handler } from '../http/request-context.js';
import type { RequestInfo } from '../http/request-info.js';

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

  constructor(handlers: readonly SubresourceHandler[]) {
    for (const handler of handlers) this.#handlers.set(keyOf(handler), handler.handle);
  }

  find(info: RequestInfo): Handler | undefined {
    return this.#handlers.get(keyOf(info));
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
