import type { Duplex } from 'node:stream';

/** Bytes both ways until one side ends; an error on one side ends the other. */
export function joinSockets(one: Duplex, other: Duplex): void {
  one.pipe(other);
  other.pipe(one);
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.once('error', () => to.destroy());
    from.once('close', () => to.destroy());
  }
}
