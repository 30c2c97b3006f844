/**
 * The classes of failure that a reconcile loop, a worker or a route tells apart. The thrower classifies once;
 * the catcher turns the class into requeue, condition, event, metric and log level and never decides again.
 *
 * Messages state what was attempted on which object, what was found and what to do. They reach statuses,
 * events and logs: no secrets, no URL query strings.
 */
abstract class ClassifiedError extends Error {
  abstract readonly kind: 'terminal' | 'waiting';

  constructor(
    /** CamelCase word for conditions and events, for example `DestinationNotFound`. */
    readonly reason: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A person or a change of the spec is needed; trying again as it is cannot help. */
export class TerminalError extends ClassifiedError {
  readonly kind = 'terminal';
}

/** Expected and passing: try again after `delayMs`. Not an incident, so not logged as an error. */
export class WaitingError extends ClassifiedError {
  readonly kind = 'waiting';

  constructor(
    reason: string,
    message: string,
    /** Milliseconds until the next attempt. */
    readonly delayMs: number,
    options?: ErrorOptions,
  ) {
    super(reason, message, options);
  }
}
