import { JsonSyntaxError } from '#lib/json';
import { HttpException } from '@nestjs/common';
import { HTTP_STATUS, PublicError, type FieldProblem } from '#lib/errors';
import {
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  isQuotaExceeded,
  isRightMissing,
  KubeApiError,
  KubeUnreachableError,
} from '#lib/kube';
import { isStorageFull, postgresTrouble } from '#lib/postgres';
import { problemsOfInvalid, unknownFieldProblems } from './kube-problems.js';

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

export const DATABASE_UNAVAILABLE = unavailable('The database');
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

export const STORAGE_FULL: ErrorAnswer = {
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
