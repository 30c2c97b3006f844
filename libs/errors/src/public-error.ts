/** Meaning of a public error for the caller; one filter per program maps it to HTTP. */
export type PublicErrorCode =
  | 'bad_request' // 400
  | 'unauthenticated' // 401
  | 'forbidden' // 403
  | 'not_found' // 404, also for what belongs to another tenant
  | 'conflict' // 409
  | 'precondition_failed' // 412, If-Match
  | 'too_large' // 413
  | 'invalid' // 422 with one entry for each field
  | 'too_many' // 429
  | 'unavailable'; // 503, try again

/** One wrong field: where it is, what is wrong, and a stable word for the kind of mistake. */
export interface FieldProblem {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** HTTP status of each code. */
export const HTTP_STATUS: Readonly<Record<PublicErrorCode, number>> = {
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  precondition_failed: 412,
  too_large: 413,
  invalid: 422,
  too_many: 429,
  unavailable: 503,
};

/**
 * An error whose message is meant for the caller of a public interface. Domain code throws it; it knows nothing of
 * HTTP. Body on the wire: `{"detail": message}`, for `invalid` `{"detail": [{loc, msg, type}]}`.
 */
export class PublicError extends Error {
  /** Delay after which a retry is worthwhile, where the thrower knows it. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    readonly code: PublicErrorCode,
    message: string,
    /** For `invalid`: every wrong field, not just the first. */
    readonly problems: readonly FieldProblem[] = [],
    options?: ErrorOptions & { readonly retryAfterSeconds?: number },
  ) {
    super(message, options);
    this.name = 'PublicError';
    this.retryAfterSeconds = options?.retryAfterSeconds;
  }

  /** The JSON body for this error. */
  get body(): { detail: string | readonly FieldProblem[] } {
    return { detail: this.code === 'invalid' ? this.problems : this.message };
  }
}
