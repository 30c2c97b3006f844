/** How long a connection may be silent before its peer is probed: a broken network ends a LISTEN otherwise unseen. */
export const KEEP_ALIVE_MS = 10_000;
