/**
 * Does something synchronous under another umask: the platform's own keeps its files to itself, and a few must be read by
 * other users. A process that is started meanwhile keeps it.
 */
export function withUmask<T>(mask: number, action: () => T): T {
  const before = process.umask(mask);
  try {
    return action();
  } finally {
    process.umask(before);
  }
}
