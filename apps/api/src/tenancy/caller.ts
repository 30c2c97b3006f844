import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';

/** Id of the operator's key. */
export const OPERATOR = 'operator';

const callers = new WeakMap<object, Caller>();

export function setCaller(request: FastifyRequest, caller: Caller): void {
  callers.set(request.raw, caller);
}

/** Caller of a request; undefined before the key is verified. */
export function findCaller(request: FastifyRequest): Caller | undefined {
  return callers.get(request.raw);
}

/** Caller of a request. */
function callerOf(request: FastifyRequest): Caller {
  const caller = findCaller(request);
  if (!caller) throw new PublicError('unauthenticated', 'An API key is required');
  return caller;
}

/** The verified caller, as a parameter of a route. */
export const FromCaller = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  callerOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
