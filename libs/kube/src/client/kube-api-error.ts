/** There was no answer: refused, reset, timed out or aborted. `cause` says what the socket said. */
export class KubeUnreachableError extends Error {
  /** Node's word for it, for example `ECONNREFUSED`. */
  readonly code: string;

  constructor(method: string, path: string, cause: unknown) {
    super(`${method} ${path} got no answer from the API server`, { cause });
    this.name = 'KubeUnreachableError';
    this.code = codeOf(cause);
  }
}

function codeOf(cause: unknown): string {
  // not `instanceof Error`: what Node's own modules throw belongs to another realm inside a test runner's sandbox
  if (typeof cause !== 'object' || cause === null) return 'UNKNOWN';
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return 'name' in cause && typeof cause.name === 'string' ? cause.name : 'UNKNOWN';
}

/** One cause in the details of an API error. */
export interface KubeErrorCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

interface KubeErrorDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly KubeErrorCause[];
  readonly retryAfterSeconds?: number;
}

/** The API server refused a request. Match by `code` and `reason`, never by text. */
export class KubeApiError extends Error {
  constructor(
    /** HTTP status. */
    readonly code: number,
    /** Kubernetes' machine-readable reason, for example `NotFound`, `AlreadyExists`, `Conflict`, `Invalid`, `Expired`. */
    readonly reason: string,
    message: string,
    readonly details: KubeErrorDetails = {},
  ) {
    super(message);
    this.name = 'KubeApiError';
  }
}

/** The object (or the kind) is not there. */
export function isNotFound(error: unknown): error is KubeApiError {
  return error instanceof KubeApiError && error.code === 404;
}

/** The account has no right to do this. */
export function isForbidden(error: unknown): error is KubeApiError {
  return error instanceof KubeApiError && error.code === 403;
}

/** An object of that name exists already. */
export function isAlreadyExists(error: unknown): error is KubeApiError {
  return error instanceof KubeApiError && error.reason === 'AlreadyExists';
}

/** The object changed since it was read, or another field manager owns a field. */
export function isConflict(error: unknown): error is KubeApiError {
  return error instanceof KubeApiError && error.code === 409 && error.reason !== 'AlreadyExists';
}

/** The resource version or continue token is too old: list anew. */
export function isExpired(error: unknown): error is KubeApiError {
  return error instanceof KubeApiError && (error.code === 410 || error.reason === 'Expired');
}

/** A namespace holds as much as it may. Kubernetes has no reason of its own for it, nor a cause: only these words. */
export function isQuotaExceeded(error: unknown): boolean {
  return error instanceof KubeApiError && error.code === 403 && error.message.includes('exceeded quota: ');
}

/** The caller lacks a right, by RBAC; whether others have refused it, as quotas and admission do, is said in other words. */
export function isRightMissing(error: unknown): boolean {
  return error instanceof KubeApiError && error.code === 403 && / cannot \w+ resource /.test(error.message);
}

/** The object is not valid: a person must change it. */
export function isInvalid(error: unknown): error is KubeApiError {
  return error instanceof KubeApiError && error.code === 422;
}

interface Status {
  readonly kind?: unknown;
  readonly code?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly details?: unknown;
}

/** The error in the body of a refused request, or of an ERROR event; what is no Status keeps its HTTP code. */
export function parseStatus(code: number, body: string, retryAfter?: string | string[]): KubeApiError {
  let status: Status = {};
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null) status = parsed;
  } catch {
    status = { message: body.slice(0, 500).trim() };
  }
  return errorOfStatus(status, code, Number(retryAfter));
}

/** The error of a `kind: Status` object. */
export function errorOfStatus(status: Status, fallbackCode: number, retryAfterSeconds = NaN): KubeApiError {
  const code = typeof status.code === 'number' ? status.code : fallbackCode;
  const reason = typeof status.reason === 'string' && status.reason !== '' ? status.reason : reasonOf(code);
  const message =
    typeof status.message === 'string' && status.message !== ''
      ? status.message
      : `the API server answered ${code} ${reason}`;
  const details = (
    typeof status.details === 'object' && status.details !== null ? status.details : {}
  ) as KubeErrorDetails;
  return new KubeApiError(
    code,
    reason,
    message,
    Number.isFinite(retryAfterSeconds) ? { retryAfterSeconds, ...details } : details,
  );
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function reasonOf(code: number): string {
  return REASONS[code] ?? 'Unknown';
}
