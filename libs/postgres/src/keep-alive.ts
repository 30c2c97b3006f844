/**
 * Time for which a connection may be silent before its peer is probed: a broken network otherwise ends a
 * LISTEN unseen.
 */
export const KEEP_ALIVE_MS = 10_000;
