import { applyDecorators, Header, RequestMapping, RequestMethod } from '@nestjs/common';
import { Operation, type OperationText } from './operation.js';
import { type Access, declareAccess } from './route-access.js';
import { JSON_TYPE } from './stored-json.js';

/** Everything that is declared of a route beside its path and its access. */
interface RouteText extends Partial<OperationText> {
  /** `json`: the handler answers JSON text. `counted json`: it sends JSON text, and counts it by itself. */
  readonly sends?: 'json' | 'counted json';
  /** Fields of the route's configuration in the router, beside those of decorators below. */
  readonly config?: object;
}

/** A route without a summary is in no document. */
function route(method: RequestMethod) {
  return (path: string | string[], access: Access, text: RouteText = {}): MethodDecorator => {
    const { summary, sends, config } = text;
    const counted = sends === 'counted json' ? { countsAnswer: true } : {};
    return applyDecorators(
      ...(summary === undefined ? [] : [Operation({ ...text, summary })]),
      ...(sends === undefined ? [] : [Header('content-type', JSON_TYPE)]),
      declareAccess(access, { ...config, ...counted }),
      RequestMapping({ path, method }),
    );
  };
}

export const Get = route(RequestMethod.GET);
export const Post = route(RequestMethod.POST);
export const Put = route(RequestMethod.PUT);
export const Patch = route(RequestMethod.PATCH);
export const Delete = route(RequestMethod.DELETE);
