import { connect, type Socket } from 'node:net';

/**
 * Sends bytes and takes nothing of the answer, until the server ends the connection.
 * @param socket an open connection instead, for example one with TLS
 */
export async function sendUnread(
  port: number,
  text: string,
  socket: Socket = connect(port, '127.0.0.1'),
): Promise<void> {
  socket.on('error', () => undefined);
  socket.write(text);
  // a socket that reads nothing learns of its end by writing: empty lines, which servers skip between requests
  const knocking = setInterval(() => socket.write('\r\n'), 100);
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  clearInterval(knocking);
}
