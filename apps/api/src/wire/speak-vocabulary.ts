import {
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { map, type Observable } from 'rxjs';
import { isVendorsAddress } from './addresses.js';
import type { RequestClass } from './excess.js';
import { declaredIn, type Handler } from './query-guard.js';
import { isRequestClass } from './request-pipe.js';
import { isPlain, type ReadBody, readWords, type SentWords, speakWords } from './vocabulary.js';
import { LENIENT_PATHS } from './words.js';

const read = new WeakMap<object, Pick<ReadBody, 'sent' | 'ignored'>>();

/** Words of values that the body of a request has, as a parameter of a route. */
export const FromWords = createParamDecorator(
  (_data: unknown, context: ExecutionContext): SentWords =>
    read.get(context.switchToHttp().getRequest<FastifyRequest>().raw)?.sent ?? {},
);

/** Members of the body that were ignored, as a text, as a parameter of a route; empty when none was. */
export const FromIgnored = createParamDecorator((_data: unknown, context: ExecutionContext): string =>
  ignoredIn(context.switchToHttp().getRequest<FastifyRequest>()),
);

/** Members of the body that were ignored, as a text; empty when none was. */
export function ignoredIn(request: FastifyRequest): string {
  return named(read.get(request.raw)?.ignored ?? []);
}

/** Called for an answer to a request with ignored members. */
export type ReportIgnored = (request: FastifyRequest, answer: unknown, ignored: string) => void;

const MAX_NAMED = 10;
const MAX_NAME = 64;

/**
 * Translates bodies and answers between the vocabularies of `words.ts` before and after everything else sees them. Members
 * that no vocabulary has are ignored and named in `Warning`; with `Prefer: handling=strict` they are refused.
 */
export class SpeakVocabulary implements NestInterceptor {
  readonly #classes = new Map<Handler, RequestClass | undefined>();

  constructor(private readonly report: ReportIgnored) {}

  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const url = request.routeOptions.url ?? '';
    if (!LENIENT_PATHS.some((path) => url.startsWith(path))) return next.handle();
    this.#readBody(context, request);
    return next.handle().pipe(
      map((answer) => {
        const ignored = ignoredIn(request);
        if (ignored !== '') {
          const text = `ignored, since they are not known here: ${ignored}`;
          this.report(request, answer, text);
          addWarning(http.getResponse<FastifyReply>(), text);
        }
        return speakWords(answer, isVendorsAddress(request.raw));
      }),
    );
  }

  #readBody(context: ExecutionContext, request: FastifyRequest): void {
    const type = this.#classOf(context);
    if (!type || !isPlain(request.body)) return;
    const { body, ...found } = readWords(type, request.body, isStrict(request));
    request.body = body;
    read.set(request.raw, found);
  }

  #classOf(context: ExecutionContext): RequestClass | undefined {
    const handler = context.getHandler();
    if (!this.#classes.has(handler)) {
      const [declared] = declaredIn(RouteParamtypes.BODY, context.getClass(), handler);
      const type = declared && 'type' in declared ? declared.type : undefined;
      this.#classes.set(handler, isRequestClass(type) ? type : undefined);
    }
    return this.#classes.get(handler);
  }
}

function isStrict({ headers: { prefer } }: FastifyRequest): boolean {
  return (Array.isArray(prefer) ? prefer : [prefer]).some((one) =>
    /\bhandling\s*=\s*"?strict\b/i.test(one ?? ''),
  );
}

/** Names for a header and a log line: they are the client's. */
function named(paths: readonly string[]): string {
  const shown = paths
    .slice(0, MAX_NAMED)
    .map((path) => path.slice(0, MAX_NAME).replaceAll(/[^\x21-\x7e]/g, '?'));
  return shown.join(', ') + (paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : '');
}

/** Adds a warning to those that the answer has. */
export function addWarning(reply: FastifyReply, text: string): void {
  const former = reply.getHeader('warning');
  const warning = `299 - "${text.replaceAll(/[\\"]/g, '\\$&')}"`;
  void reply.header('warning', typeof former === 'string' ? `${former}, ${warning}` : warning);
}
