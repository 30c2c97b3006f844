import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** A message of a server: its type, its length, its body. */
export function serverMessage(type: string, body: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const WELCOME = Buffer.concat([serverMessage('R', Buffer.alloc(4)), serverMessage('Z', Buffer.from('I'))]);

/** A program that lets everybody in as Postgres does, and then answers statements as it likes. */
export class HostileServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(answer: (socket: Socket) => void) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write(WELCOME);
        socket.on('data', () => answer(socket));
      });
    });
  }

  async uri(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo;
    return `postgres://role:password@127.0.0.1:${port}/db`;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}
