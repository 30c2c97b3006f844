/** An attachment is not stored; its run is. The message is for people, and goes on after a colon. */
export class NotKeptError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NotKeptError';
  }
}
