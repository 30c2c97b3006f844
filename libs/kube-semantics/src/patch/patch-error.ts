/** A patch that cannot be used. `status` 400: malformed; 422: it does not fit the object (test failed, path missing); 413: too many operations; 500: what Kubernetes answers so. */
export class PatchError extends Error {
  constructor(
    readonly status: 400 | 413 | 415 | 422 | 500,
    message: string,
  ) {
    super(message);
    this.name = 'PatchError';
  }
}
