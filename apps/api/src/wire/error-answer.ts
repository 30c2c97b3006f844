import { HttpException, Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { type FieldProblem, HTTP_STATUS, PublicError } from '#lib/errors';
import { JsonSyntaxError } from '#lib/json';
import {
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  isQuotaExceeded,
  isRightMissing,
  KubeApiError,
  type KubeErrorCause,
  KubeUnreachableError,
} from '#lib/kube';
import { isStorageFull, postgresTrouble } from '#lib/postgres';
import { MAX_PROBLEMS } from './excess.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

function snake(camel: string): string {
  return camel.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`);
}

/** Fields whose name on the wire is not their name in the resource. */
const WIRE_NAMES: ReadonlyMap<string, string> = new Map([
  ['destinationRef', 'bulk_export_destination_id'],
  ['tracingProject', 'session_id'],
  ['type', 'destination_type'],
]);

/** Parts of a pod in a resource spec, whose fields have the names of Kubernetes on the wire too. */
const POD_PARTS: ReadonlySet<string> = new Set([
  'affinity',
  'annotations',
  'initContainers',
  'labels',
  'nodeSelector',
  'sidecars',
  'tolerations',
  'topologySpreadConstraints',
  'volumeMounts',
  'volumes',
]);

function segments(path: string): (string | number)[] {
  const names = path.split(/[.[\]]/).filter((segment) => segment !== '');
  const podPart = names.indexOf('resourceSpec') + 1;
  const isOfPod = podPart > 0 && POD_PARTS.has(names[podPart] ?? '');
  return names.map((segment, index) => {
    if (/^\d+$/.test(segment)) return Number(segment);
    return isOfPod && index > podPart ? segment : (WIRE_NAMES.get(segment) ?? snake(segment));
  });
}

/** `sourceConfig.repoUrl is only for …`: a rule over several fields names the field in its message. */
const NAMED = /^((?:[a-z][A-Za-z0-9]*)(?:\.[a-z][A-Za-z0-9]*)*) (?=is |must |cannot )/;

function withoutSpec(field: string): string {
  return field.replace(/^spec\.?/, '').replace(/^<nil>$/, '');
}

function problem(cause: KubeErrorCause): FieldProblem {
  const field = withoutSpec(cause.field ?? '');
  // `Invalid value: "object": sourceConfig.repoUrl is only for …`
  const message = (cause.message ?? 'is not valid').replace(
    /^Invalid value: ("(?:object|array|string|integer|number|boolean)"|\{.*?\}): /s,
    '',
  );
  const named = NAMED.exec(message);
  const path = named?.[1] ?? '';
  const isOwnName = path !== '' && (field === path || field.endsWith(`.${path}`));
  const loc = ['body', ...segments(field), ...(isOwnName ? [] : segments(path))];
  return {
    loc,
    msg: path === '' ? message : segments(path).join('.') + message.slice(path.length),
    type: snake(cause.reason ?? 'FieldValueInvalid').replace(/^_/, ''),
  };
}

/** Problems that the API server found in a resource, in the shape and names of this API. */
function problemsOfInvalid(error: KubeApiError): readonly FieldProblem[] {
  const all = error.details.causes ?? [];
  // rules that were not evaluated, because of the other mistakes
  const told = all.filter(({ field }) => field !== '<nil>');
  const causes = told.length > 0 ? told : all;
  if (causes.length === 0) return [{ loc: ['body'], msg: error.message, type: 'field_value_invalid' }];
  return causes.slice(0, MAX_PROBLEMS).map(problem);
}

/** Fields that the kind does not have. Kubernetes lists no causes for them, so they are read from its words. */
function unknownFieldProblems(error: KubeApiError): readonly FieldProblem[] {
  if (error.code !== 400) return [];
  const fields = [...error.message.matchAll(/unknown field "([^"]+)"/g)].map(([, field = '']) => field);
  return fields.slice(0, MAX_PROBLEMS).map((field) => ({
    loc: ['body', ...segments(withoutSpec(field))],
    msg: `unknown field ${JSON.stringify(segments(withoutSpec(field)).at(-1))}`,
    type: 'extra_forbidden',
  }));
}

/** An error as its caller sees it. */
export interface ErrorAnswer {
  readonly status: number;
  readonly body: { readonly detail: string | readonly FieldProblem[] };
  /** Seconds after which it is worth trying again. */
  readonly retryAfter?: number;
  /** A failure of the platform, to be logged. */
  readonly isOurs: boolean;
}

const INTERNAL: ErrorAnswer = { status: 500, body: { detail: 'Internal Server Error' }, isOurs: true };
function unavailable(dependency: string): ErrorAnswer {
  const detail = `${dependency} is unavailable, try again`;
  return { status: 503, body: { detail }, retryAfter: 2, isOurs: true };
}

const DATABASE_UNAVAILABLE = unavailable('The database');
const KUBERNETES_UNAVAILABLE = unavailable('The Kubernetes API');
/** Answer for a conflict with another transaction; nothing was performed. */
const OVERTAKEN: ErrorAnswer = {
  ...DATABASE_UNAVAILABLE,
  body: { detail: 'Another request changed the same rows at the same time, try again' },
};

/** The controller gives them in each workspace; that takes a moment in a new one, and after an upgrade. */
const RIGHTS_MISSING: ErrorAnswer = {
  status: 503,
  body: { detail: 'The platform does not have its rights in this workspace yet, try again' },
  retryAfter: 2,
  isOurs: true,
};

const STORAGE_FULL: ErrorAnswer = {
  status: 507,
  body: { detail: 'storing the request failed: no space left on the disk of the store; free some and retry' },
  retryAfter: 10,
  isOurs: true,
};

function plain(status: number, detail: string): ErrorAnswer {
  return { status, body: { detail }, isOurs: false };
}

function ofKube(error: KubeApiError): ErrorAnswer {
  if (error.code === 429 || error.code >= 500) return KUBERNETES_UNAVAILABLE;
  if (isQuotaExceeded(error)) return plain(403, error.message);
  if (isRightMissing(error)) return RIGHTS_MISSING;
  if (isInvalid(error)) return { status: 422, body: { detail: problemsOfInvalid(error) }, isOurs: false };
  const unknown = unknownFieldProblems(error);
  if (unknown.length > 0) return { status: 422, body: { detail: unknown }, isOurs: false };
  if (isNotFound(error)) return plain(404, 'Not Found');
  if (isAlreadyExists(error)) return plain(409, 'A resource with this name already exists');
  if (isConflict(error))
    return plain(409, 'Another request changed the resource at the same time; try again');
  return INTERNAL;
}

/** Errors of the HTTP server itself: too large, unknown content type, broken requests. */
function ofServer(error: Error & { statusCode: number }): ErrorAnswer {
  if (error.statusCode >= 500) return INTERNAL;
  const details: Readonly<Record<number, string>> = {
    413: 'The request body is too large',
    415: 'The content type or encoding of the request is not supported',
  };
  return plain(error.statusCode, details[error.statusCode] ?? error.message);
}

/** TypeORM wraps the driver's errors. */
function ofDatabase(error: Error): ErrorAnswer | undefined {
  const thrown = 'driverError' in error ? error.driverError : error;
  if (isStorageFull(thrown) || ('code' in error && error.code === 'ENOSPC')) return STORAGE_FULL;
  switch (postgresTrouble(thrown)) {
    case 'unavailable':
      return DATABASE_UNAVAILABLE;
    case 'conflict':
      return OVERTAKEN;
    case 'refused':
    case undefined:
      return undefined;
  }
}

/** The one place in which errors become HTTP. */
export function answerOf(error: unknown): ErrorAnswer {
  if (error instanceof PublicError)
    return {
      status: HTTP_STATUS[error.code],
      body: error.body,
      isOurs: false,
      ...(error.code === 'too_many' || error.code === 'unavailable'
        ? { retryAfter: error.retryAfterSeconds ?? 1 }
        : {}),
    };
  if (error instanceof KubeApiError) return ofKube(error);
  if (error instanceof KubeUnreachableError) return KUBERNETES_UNAVAILABLE;
  if (error instanceof JsonSyntaxError)
    return {
      status: 422,
      body: { detail: [{ loc: ['body', error.offset], msg: error.message, type: 'json_invalid' }] },
      isOurs: false,
    };
  if (error instanceof HttpException)
    return error.getStatus() === 404 ? plain(404, 'Not Found') : plain(error.getStatus(), error.message);
  if (!(error instanceof Error)) return INTERNAL;
  if ('statusCode' in error && typeof error.statusCode === 'number')
    return ofServer(Object.assign(error, { statusCode: error.statusCode }));
  return ofDatabase(error) ?? INTERNAL;
}

/** A Postgres whose disk is full ends, and is in recovery for a while after there is space again. */
const FULL_FOR_MS = 60_000;

/** Maps whatever a route throws to HTTP. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  #fullUntilMs = -Infinity;

  constructor(
    private readonly log: Logger,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    if (request.raw.socket.destroyed) {
      this.log.debug(
        { method: request.method, route: request.routeOptions.url },
        'caller disconnected before the answer',
      );
      return;
    }
    const answer = this.#answerOf(error);
    if (answer.isOurs)
      this.log.error(
        { err: error, method: request.method, route: request.routeOptions.url },
        'request failed',
      );
    if (answer.retryAfter !== undefined) void reply.header('retry-after', answer.retryAfter);
    void reply.status(answer.status).send(answer.body);
  }

  /**
   * Answer to an error. Requests after the one that found the disk full find a database that is unavailable
   * for that reason.
   */
  #answerOf(error: unknown): ErrorAnswer {
    const answer = answerOf(error);
    const nowMs = this.clock.monotonicMs();
    if (answer === STORAGE_FULL) this.#fullUntilMs = nowMs + FULL_FOR_MS;
    return answer === DATABASE_UNAVAILABLE && nowMs < this.#fullUntilMs ? STORAGE_FULL : answer;
  }
}
