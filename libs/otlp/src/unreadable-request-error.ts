/** The request does not match its content type, or exceeds the limits of a request. */
export class UnreadableRequestError extends Error {
  constructor(
    message: string,
    readonly isTooLarge = false,
  ) {
    super(message);
    this.name = 'UnreadableRequestError';
  }
}
