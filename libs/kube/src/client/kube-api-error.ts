/** One cause in the details of an API error. */
export interface KubeErrorCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface KubeErrorDetails {
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
