/** Names the descriptors of a child process's sockets, as `PORT:DESCRIPTOR` with commas between. */
export const HELD_SOCKETS = 'AGENTPLANE_HELD_SOCKETS';

/** Message of a child to its parent about a socket. `held` comes with the handle. */
export interface SocketMessage {
  readonly kind: 'socket-held' | 'socket-released' | 'socket-failed';
  readonly port: number;
  /** Error code of a socket that failed. */
  readonly code?: string;
}

/** @returns undefined for a message about something else */
export function parseSocketMessage(message: unknown): SocketMessage | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const { kind, port, code } = message as Partial<SocketMessage>;
  if (kind !== 'socket-held' && kind !== 'socket-released' && kind !== 'socket-failed') return undefined;
  return typeof port === 'number' ? { kind, port, ...(code === undefined ? {} : { code }) } : undefined;
}
