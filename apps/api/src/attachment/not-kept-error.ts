/** An attachment is not stored; its run is. The message is for people, and follows a colon. */
export class NotKeptError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NotKeptError';
  }
}
