import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Observable, tap } from 'rxjs';
import { entityTag } from '../wire/if-match.js';
import { isDeploymentAnswer } from './deployment-answer.js';

/** Puts the header `ETag` on answers with a deployment, for `If-Match` of the next change. */
export class TagDeployments implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    return next.handle().pipe(
      tap((answer) => {
        if (!isDeploymentAnswer(answer)) return;
        void context.switchToHttp().getResponse<FastifyReply>().header('etag', entityTag(answer.generation));
      }),
    );
  }
}
