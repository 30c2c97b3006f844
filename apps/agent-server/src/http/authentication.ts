import type { FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import { PublicError } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import { ANONYMOUS, STUDIO_USER, userOfKey, type AuthUser } from '../authorization/auth-user.js';
import { judgedAddress } from '../authorization/judged-address.js';
import type { Passed } from '../app-front/app-front.js';
import type { Authorization } from '../authorization/authorization.js';
import type { KeyVerifier } from './authenticate.js';
import { clientAddressOf } from './client-address.js';

export interface AuthenticationParts {
  /** Undefined: the platform does not authenticate. */
  readonly verifier: KeyVerifier | undefined;
  readonly authorization: Authorization | undefined;
  /** True when a studio may call beside the agent's own users. */
  readonly admitsStudio: boolean;
  /** True when a proxy in front of every request adds clients to `X-Forwarded-For`. */
  readonly trustsForwarded: boolean;
}

/** The API key of a request: in `x-api-key`, or as `Authorization: Bearer KEY`. */
function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const key = headers['x-api-key'];
  if (typeof key === 'string') return key;
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/**
 * Headers of a request; the body has not arrived when a caller is authenticated.
 * @param address that is judged
 */
function handlerRequest({ headers, method }: FastifyRequest, address: string, signal: AbortSignal): Request {
  const copied = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of [value ?? []].flat()) copied.append(name, one);
  return new Request(address, { method, headers: copied, signal });
}

/**
 * Determines the caller. An authentication handler of the agent decides alone: it gets what a request carries
 * untouched, and keys of the platform open nothing by themselves. One exception: a studio
 * (`x-auth-scheme: langsmith`) shows a key of the scope `workspace`, which the handler does not get.
 */
export class Authentication {
  readonly #passed = new WeakMap<FastifyRequest, Passed>();

  constructor(private readonly parts: AuthenticationParts) {}

  /** Address of the client. */
  addressOf(request: FastifyRequest): string | undefined {
    return clientAddressOf(request, this.parts.trustsForwarded);
  }

  /**
   * Caller of a request.
   * @returns undefined for a server without authentication
   * @throws PublicError `unauthenticated`, `forbidden`, `unavailable`, `too_many`; AuthRefusal of the handler
   */
  async callerOf(
    request: FastifyRequest,
    address: string | undefined = this.addressOf(request),
  ): Promise<AuthUser | undefined> {
    const { authorization, admitsStudio } = this.parts;
    const { headers } = request;
    if (!authorization) return this.#ownerOfKey(request, address);
    if (admitsStudio && headers['x-auth-scheme'] === 'langsmith') return this.#studio(request, address);
    if (!authorization.authenticates) return (await this.#ownerOfKey(request, address)) ?? ANONYMOUS;
    const judged = judgedAddress(headers.host, request.url);
    const params = isJsonObject(request.params) ? request.params : {};
    const route = { target: request.url, params };
    return authorization.authenticate(
      (signal) => handlerRequest(request, judged, signal),
      headers,
      route,
      address,
    );
  }

  /**
   * The caller of a request for a route of this server.
   * @param isForKeys true when the route answers keys of the platform alone, if the platform authenticates
   * @param passed sender known to an app of the agent that left the request to the server
   * @throws as `callerOf`
   */
  async callerOfRoute(
    request: FastifyRequest,
    { isForKeys, passed }: { readonly isForKeys: boolean; readonly passed: Passed | undefined },
  ): Promise<AuthUser | undefined> {
    if (isForKeys && this.parts.verifier !== undefined)
      return this.#ownerOfKey(request, this.addressOf(request));
    if (passed === undefined) return this.callerOf(request);
    this.#passed.set(request, passed);
    return passed.caller ?? this.callerOf(request, passed.address);
  }

  /** Authenticates a request once more, as it was the first time. */
  async callerAgain(request: FastifyRequest): Promise<AuthUser | undefined> {
    const passed = this.#passed.get(request);
    return passed?.caller ? passed.again() : this.callerOf(request, passed?.address);
  }

  async #ownerOfKey({ headers }: FastifyRequest, address: string | undefined): Promise<AuthUser | undefined> {
    const caller = await this.parts.verifier?.verify(keyOf(headers), address);
    return caller && userOfKey(caller);
  }

  /** Any client can send the header; only the key counts. */
  async #studio({ headers }: FastifyRequest, address: string | undefined): Promise<AuthUser> {
    const caller = await this.parts.verifier?.verify(keyOf(headers), address);
    if (caller && caller.scope !== 'workspace')
      throw new PublicError(
        'forbidden',
        `API key refused for a studio: its scope is ${caller.scope}; use a key of the scope workspace`,
      );
    return STUDIO_USER;
  }
}
