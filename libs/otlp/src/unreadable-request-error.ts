/** The request is not what its content type says, or brings more than a request may. */
export class UnreadableRequestError extends Error {
  constructor(
    message: string,
    readonly isTooLarge = false,
  ) {
    super(message);
    this.name = 'UnreadableRequestError';
  }
}
