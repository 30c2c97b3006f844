/** Where a host finds its server: frames both ways. */
export const FRAMES_FD = 3;

/** Where a host's watch writes, a line of JSON for each time that the host hangs. */
export const WATCH_FD = 4;
