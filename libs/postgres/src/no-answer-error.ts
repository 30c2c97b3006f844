/**
 * A statement that got no answer: its connection broke, or none could be opened in time. The server may have performed
 * it. `cause` is what the driver or the socket reported.
 */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';

  constructor(cause: unknown) {
    super('the database gave no answer', { cause });
  }
}
