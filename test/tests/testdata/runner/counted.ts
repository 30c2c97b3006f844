/** Counts the files of a process that load it. */
export const loads = { count: 0 };
