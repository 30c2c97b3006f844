/** Time limits of clients. */
export interface ServerLimits {
  /** Time from the connection, or the first byte of a later request, to the end of its headers. */
  readonly headersMs: number;
  /** Time without a byte of a body whose reader waits for more. */
  readonly bodyIdleMs: number;
  /** A body that has had `bodyIdleMs` must come faster than this on average. */
  readonly bodyBytesPerSecond: number;
  /**
   * Time for a body as a whole, counted while its reader waits for more; Infinity for uploads of any size.
   */
  readonly bodyTotalMs: number;
  /**
   * Time in which a client takes no byte of an answer that is ready for it. Answers without an end are not
   * limited otherwise.
   */
  readonly answerStallMs: number;
  /**
   * Minimum average speed of a client in each `answerStallMs` during which an answer was ready all the time.
   */
  readonly answerBytesPerSecond: number;
  /** Interval between checks of the limits; a connection is closed at most that much late. */
  readonly checkMs: number;
}

/** Default limits of every server. */
export const SERVER_LIMITS: ServerLimits = {
  headersMs: 10_000,
  bodyIdleMs: 30_000,
  bodyBytesPerSecond: 500,
  bodyTotalMs: 600_000,
  answerStallMs: 30_000,
  answerBytesPerSecond: 4_000,
  checkMs: 2_500,
};

/** The part of the limits that Node's own servers enforce. */
export interface ServerOptions {
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  readonly connectionsCheckingInterval: number;
}

/**
 * Options for `createServer`. Node's limit on whole requests stays off: it knows no difference between a client that
 * sends slowly and a server that reads slowly. Headers must then be limited by name, since their default is the lesser
 * of a minute and that limit, and looked at more often than every 30 s.
 */
export function serverOptions(limits: ServerLimits = SERVER_LIMITS): ServerOptions {
  return {
    headersTimeout: limits.headersMs,
    requestTimeout: 0,
    connectionsCheckingInterval: limits.checkMs,
  };
}
