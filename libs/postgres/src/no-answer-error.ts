/**
 * A statement that got no answer: its connection broke, or none could be opened in time. The server may have
 * performed it. `cause` is the error of the driver or the socket.
 */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';

  constructor(cause: unknown) {
    super('the database gave no answer', { cause });
  }
}
