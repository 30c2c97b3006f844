/** Descriptor by which a host reaches its server: frames both ways. */
export const FRAMES_FD = 3;

/** Descriptor that a host's watch writes to, a line of JSON for each time that the host hangs. */
export const WATCH_FD = 4;
