import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { RouteConfig } from '@nestjs/platform-fastify';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants.js';
import type { FastifyInstance } from 'fastify';
import type { KeyScope } from '#lib/auth';

export const WORKSPACE: readonly KeyScope[] = ['workspace'];
export const READ: readonly KeyScope[] = ['workspace', 'read'];
/** A deployment's own key reaches the things of that deployment alone. */
export const DEPLOYMENT: readonly KeyScope[] = ['workspace', 'deployment'];
export const WRITE_RUNS: readonly KeyScope[] = ['workspace', 'deployment', 'ingest'];
export const READ_RUNS: readonly KeyScope[] = ['workspace', 'deployment', 'read'];

/** Credential that a route asks for. */
export type RouteAccess =
  | { readonly kind: 'key'; readonly scopes: readonly KeyScope[] }
  | {
      readonly kind: 'public';
      /** Why no key is asked for. */
      readonly reason: string;
      /** True when the answer is the same for every caller, so that no caller is refused. */
      readonly isForAll: boolean;
    };

/** Part of a route's configuration in the router. */
export interface AccessRoute {
  readonly routeAccess?: RouteAccess;
}

/** Access of a route that no handler declares: the refusal of a method or a path. */
export const UNDECLARED: RouteAccess = { kind: 'key', scopes: WORKSPACE };

/** Scopes of keys that open a route, or why it asks for none. */
export type Access = readonly KeyScope[] | Extract<RouteAccess, { kind: 'public' }>;

/**
 * Access of a route that asks for no key.
 * @param reason why it needs none
 * @param isForAll true when the answer is the same for every caller; else a token of the path or a form identifies them
 */
export function publicly(reason: string, { isForAll = false } = {}): Access {
  return { kind: 'public', reason, isForAll };
}

interface Handler {
  readonly controller: object;
  readonly method: object;
  readonly access: RouteAccess;
}

const handlers: Handler[] = [];
let table: ReadonlyMap<string, RouteAccess> | undefined;

/** Declares the access of a route with more of its configuration; the values of decorators below are kept. */
export function declareAccess(given: Access, more: object): MethodDecorator {
  const access: RouteAccess = 'kind' in given ? given : { kind: 'key', scopes: given };
  return (target, key, descriptor) => {
    const method = descriptor.value as object;
    const config = (Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, method) ?? {}) as object;
    RouteConfig({ ...config, ...more, routeAccess: access })(target, key, descriptor);
    handlers.push({ controller: target.constructor, method, access });
    table = undefined;
  };
}

/** Access of every route by its name, as the handlers declare it. */
export function routeAccess(): ReadonlyMap<string, RouteAccess> {
  table ??= new Map(
    handlers.flatMap(({ controller, method, access }) => {
      const verb = RequestMethod[Reflect.getMetadata(METHOD_METADATA, method) as RequestMethod];
      return pathsOf(controller).flatMap((prefix) =>
        pathsOf(method).map((path) => {
          const parts = [prefix, path].flatMap((part) => part.split('/')).filter((part) => part !== '');
          return [routeName(verb, `/${parts.join('/')}`), access] as const;
        }),
      );
    }),
  );
  return table;
}

function pathsOf(decorated: object): readonly string[] {
  return [Reflect.getMetadata(PATH_METADATA, decorated) as string | readonly string[]].flat();
}

/** Refuses to serve a route that declares no access. Call it before the first route is added. */
export function requireAccess(server: FastifyInstance): void {
  server.addHook('onRoute', ({ method, url, config }) => {
    if ((config as AccessRoute | undefined)?.routeAccess === undefined)
      throw new Error(
        `serving ${[method].flat().join(', ')} ${url}: the handler declares no access; use the decorators of wire/route.ts`,
      );
  });
}

const SECOND_PREFIX =
  /^\/api\/v1(?=\/(runs|public|otel|sessions|feedback|feedback-configs|ingest-problems|model-price-map|datasets|examples|settings|repos|commits|likes)(\/|$))|^\/api(?=\/v1\/platform\/)/;

/**
 * Name of a route, `METHOD /path`; routes of traces have one name for both of their prefixes.
 * @param pattern with parameters as the router (`:run_id`) or as the OpenAPI document (`{run_id}`) spells them
 */
export function routeName(method: string, pattern: string): string {
  const path = pattern.replace(/:([a-z_]+)/g, '{$1}').replace(SECOND_PREFIX, '');
  // the router answers HEAD as GET without the body
  return `${method === 'HEAD' ? 'GET' : method} ${path}`;
}

/** The scopes that open a route: only `workspace` for one that does not exist, none for one without a key. */
export function scopesOf(route: string): readonly KeyScope[] {
  const access = routeAccess().get(route) ?? UNDECLARED;
  return access.kind === 'key' ? access.scopes : [];
}
