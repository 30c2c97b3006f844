import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { PARAMTYPES_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { getMetadataStorage } from 'class-validator/cjs/metadata/MetadataStorage.js';
import type { FastifyRequest } from 'fastify';
import { MAX_PROBLEMS } from './excess.js';
import { invalid } from './request-pipe.js';

export type Handler = ReturnType<ExecutionContext['getHandler']>;

/** Metadata that Nest keeps of a parameter of a route. */
interface RouteArgument {
  readonly index: number;
  /** Name of the one query parameter; absent where a class takes all of them. */
  readonly data?: unknown;
}

/** A parameter of a route: the name of the one member that it takes, or the class that takes all of them. */
type Declared = { readonly name: string } | { readonly type: unknown };

/** Parameters of a route that are made of one part of the request. */
export function declaredIn(
  part: RouteParamtypes.QUERY | RouteParamtypes.BODY,
  controller: object,
  handler: Handler,
): readonly Declared[] {
  const noted = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler.name) ?? {}) as Record<
    string,
    RouteArgument
  >;
  const types = (Reflect.getMetadata(
    PARAMTYPES_METADATA,
    (controller as { readonly prototype: object }).prototype,
    handler.name,
  ) ?? []) as readonly unknown[];
  return Object.entries(noted)
    .filter(([kind]) => kind.startsWith(`${part}:`))
    .map(([, { index, data }]) => (typeof data === 'string' ? { name: data } : { type: types[index] }));
}

/** The names that a route declares: the same decorators make the OpenAPI document. */
function declaredNames(controller: object, handler: Handler): readonly string[] {
  const names = declaredIn(RouteParamtypes.QUERY, controller, handler).flatMap((one) =>
    'name' in one ? [one.name] : fieldsOf(one.type),
  );
  return [...new Set(names)].sort();
}

function fieldsOf(type: unknown): readonly string[] {
  if (typeof type !== 'function') return [];
  return getMetadataStorage()
    .getTargetValidationMetadatas(type, '', false, false)
    .map(({ propertyName }) => propertyName);
}

/**
 * Refuses query parameters that the route does not declare: a filter that is not known would otherwise answer, or
 * delete, everything.
 */
@Injectable()
export class QueryGuard implements CanActivate {
  readonly #known = new Map<Handler, readonly string[]>();

  canActivate(context: ExecutionContext): boolean {
    const { query } = context.switchToHttp().getRequest<FastifyRequest>();
    const sent = Object.keys(query as object);
    if (sent.length === 0) return true;
    const known = this.#knownTo(context);
    const unknown = sent.filter((name) => !known.includes(name));
    if (unknown.length === 0) return true;
    const names = known.length === 0 ? 'none' : known.join(', ');
    throw invalid(
      unknown.slice(0, MAX_PROBLEMS).map((name) => ({
        loc: ['query', name],
        msg: `Unknown query parameter; known here: ${names}`,
        type: 'extra_forbidden',
      })),
    );
  }

  #knownTo(context: ExecutionContext): readonly string[] {
    const handler = context.getHandler();
    let known = this.#known.get(handler);
    if (!known) {
      known = declaredNames(context.getClass(), handler);
      this.#known.set(handler, known);
    }
    return known;
  }
}
