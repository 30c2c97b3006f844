/** The REST interface refused a request; the message is its own. */
export class RestError extends Error {
  constructor(
    /** HTTP status. */
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = 'RestError';
  }
}
