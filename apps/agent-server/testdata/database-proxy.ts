import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { joinSockets } from './join-sockets.js';

/** A way to a real Postgres that can be cut, as if it were restarted, or held, as if it were stopped by SIGSTOP. */
export class DatabaseProxy {
  readonly #sockets = new Set<Socket>();
  #isCut = false;
  #isHeld = false;
  #lost: string | undefined;
  #hasLostAnswer = false;
  #refused = 0;
  #answers = 0;

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {}

  static async start(uri: string): Promise<DatabaseProxy> {
    const server = createServer();
    const proxy = new DatabaseProxy(server, new URL(uri));
    server.on('connection', (socket) => proxy.#carry(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get uri(): string {
    const uri = new URL(this.target);
    uri.port = String((this.server.address() as AddressInfo).port);
    return uri.href;
  }

  #carry(socket: Socket): void {
    if (this.#isCut) {
      this.#refused++;
      socket.destroy();
      return;
    }
    if (this.#isHeld) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      return;
    }
    const onward = connect(Number(this.target.port), this.target.hostname);
    joinSockets(socket, onward, this.#sockets);
    onward.on('data', () => this.#answers++);
    socket.on('data', (piece: Buffer) => {
      if (this.#lost === undefined || !piece.includes(this.#lost)) return;
      this.#lost = undefined;
      onward.unpipe(socket);
      onward
        .once('data', () => {
          this.#hasLostAnswer = true;
          socket.destroy();
        })
        .resume();
    });
  }

  /** Connections that it refused so far. */
  get refused(): number {
    return this.#refused;
  }

  /** Pieces of answers that it carried so far. */
  get answers(): number {
    return this.#answers;
  }

  /** Whether an answer that was to be lost has been: the statement came, was answered, and its connection has ended. */
  get hasLostAnswer(): boolean {
    return this.#hasLostAnswer;
  }

  /** The next connection with this in a statement ends when the server has answered that, and the answer is lost. */
  loseAnswerTo(text: string): void {
    this.#lost = text;
    this.#hasLostAnswer = false;
  }

  /** Ends every connection and takes no new ones. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Accepts new connections and answers nothing. */
  hold(): void {
    this.#isHeld = true;
  }

  mend(): void {
    this.#isCut = false;
    this.#isHeld = false;
  }

  async stop(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }
}
