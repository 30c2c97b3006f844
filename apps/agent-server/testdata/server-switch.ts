import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { joinSockets } from './join-sockets.js';

/** One address for several servers, as a Service has it: new connections go to whichever is chosen. */
export class ServerSwitch {
  readonly #sockets = new Set<Socket>();
  #targetPort = 0;

  private constructor(private readonly server: Server) {}

  static async start(targetPort: number): Promise<ServerSwitch> {
    const server = createServer();
    const itself = new ServerSwitch(server);
    itself.choose(targetPort);
    server.on('connection', (socket) => itself.#carry(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return itself;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Where new connections lead; those that are open stay where they are. */
  choose(port: number): void {
    this.#targetPort = port;
  }

  #carry(socket: Socket): void {
    const onward = connect(this.#targetPort, '127.0.0.1');
    joinSockets(socket, onward, this.#sockets);
  }

  /** Breaks every connection that is open. */
  breakAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.breakAll();
    this.server.close();
    await once(this.server, 'close');
  }
}
