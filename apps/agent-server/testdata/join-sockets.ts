import type { Socket } from 'node:net';

/** Carries what comes from either socket to the other, and ends both with the first. They are in `open` as long. */
export function joinSockets(one: Socket, other: Socket, open: Set<Socket>): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    open.add(from);
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      open.delete(from);
      to.destroy();
    });
  }
}
