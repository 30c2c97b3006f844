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
