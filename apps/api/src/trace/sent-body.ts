import { Readable } from 'node:stream';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import { encodingOf } from '../wire/body-parsers.js';
import type { BodyEncoding } from './inflated-pieces.js';

/** A body as it comes. */
export interface SentBody {
  readonly stream: Readable;
  readonly encoding: BodyEncoding | undefined;
}

/** The body of a route that reads it by itself. @throws PublicError bad_request when the request has none */
export const FromBody = createParamDecorator(
  (kind: 'JSON' | 'multipart' | 'protobuf or JSON', context: ExecutionContext): SentBody => {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { body } = request;
    if (body instanceof Readable) return { stream: body, encoding: encodingOf(request) };
    throw new PublicError('bad_request', `A ${kind} body is required`);
  },
);
