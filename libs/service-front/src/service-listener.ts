import type { Server as HttpServer } from 'node:http';
import { connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import {
  answerBrokenRequests,
  asksToUpgrade,
  type ConnectionRoom,
  joinSockets,
  limitServer,
  plainHttp,
  SERVER_LIMITS,
  serverOptions,
  type ServerLimits,
  upgradeAnswer,
} from '#lib/http';
import { claimAddress, depositSocket, findStablePort, withdrawSocket } from '#lib/held-sockets';
import { type Logger, recordCuts } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { type Endpoint, EndpointChoice } from './endpoint-choice.js';
import { forwardHttp, forwardUpgrade } from './forward-http.js';
import { SleepGate, type SleepGateOptions } from './sleep-gate.js';

/** Number of attempts to get a wished port, and the pause between them. */
const WISHED_TRIES = 30;
const WISHED_PAUSE_MS = 100;
const NEW_TRIES = 10;
/** Idle time after which kube-proxy has the kernel forget connections (`conntrack.tcpEstablishedTimeout`). */
const TCP_IDLE_MS = 24 * 3_600_000;

/**
 * Requests of agents stream for hours in both directions; idle connections are cut. Answers a while after the
 * pod's own server would, which can report more about it.
 */
const LIMITS: ServerLimits = {
  ...SERVER_LIMITS,
  bodyTotalMs: Infinity,
  answerStallMs: SERVER_LIMITS.answerStallMs + 15_000,
};

const AWAKE = { note: () => undefined, wake: () => Promise.resolve() };

export interface ServiceListenerOptions {
  /** `namespace/name`, for messages. */
  readonly serviceName: string;
  /** Port of the Service. */
  readonly port: { readonly name?: string | undefined };
  /** Address to listen on; that of this machine alone by default. */
  readonly host?: string;
  /** The endpoints at this moment. */
  readonly endpoints: () => readonly Endpoint[];
  /** Sleep of the deployment behind it; without it requests do not wait for a wake. */
  readonly sleep?: Pick<SleepGateOptions, 'note' | 'wake' | 'limits'>;
  /** Connections of the namespace's Services together. */
  readonly room: ConnectionRoom;
  readonly clock: Clock;
  readonly log: Logger;
  /** Limits for clients. */
  readonly limits?: ServerLimits;
}

/**
 * One port of a Service. A port named `http` (or `http-…`) is forwarded request by request, so that a client's
 * kept connection follows a switch at once; any other byte by byte.
 */
export class ServiceListener {
  readonly #server: Server;
  readonly #gate: SleepGate;
  readonly #isHttp: boolean;
  readonly #host: string;
  readonly #clock: Clock;
  readonly #sockets = new Set<Socket>();

  constructor(options: ServiceListenerOptions) {
    const { port, endpoints, room, clock } = options;
    const choice = new EndpointChoice(endpoints, clock);
    const ready = (): string[] => endpoints().map(({ pod }) => pod);
    this.#gate = new SleepGate({ ...(options.sleep ?? AWAKE), ready, clock });
    this.#clock = clock;
    this.#host = options.host ?? '127.0.0.1';
    this.#isHttp = /^http(-|$)/.test(port.name ?? '');
    this.#server = this.#isHttp
      ? httpServer(choice, this.#gate, options)
      : createTcpServer((socket) => {
          if (socket.destroyed) return;
          room.begin(socket);
          tcp(socket, choice).catch(() => socket.destroy());
        });
    this.#server.prependListener('connection', (socket: Socket) => {
      if (!room.admit(socket)) return;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /**
   * Listens on the wished port, else on one that can be kept; the port it became. A wished port that is taken is waited
   * for: clients hold the address, and the port may belong to the former run of this proxy.
   */
  async listen(wished: number): Promise<number> {
    for (let tries = 0; wished !== 0 && tries < WISHED_TRIES; tries++) {
      if (await this.#tryListen(wished)) return wished;
      await this.#clock.sleep(WISHED_PAUSE_MS);
    }
    for (let tries = 0; tries < NEW_TRIES; tries++) {
      const port = await findStablePort();
      if (await this.#tryListen(port)) return port;
    }
    throw new Error('no free port on 127.0.0.1');
  }

  /** Lets requests that wait for a wake look at once: a pod has become ready. */
  lookNow(): void {
    this.#gate.lookNow();
  }

  /** @param isForGood the Service does not exist any longer, as opposed to: this process ends */
  async stop(isForGood: boolean): Promise<void> {
    const address = this.#server.address();
    if (isForGood && typeof address === 'object' && address) withdrawSocket(address.port);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #tryListen(port: number): Promise<boolean> {
    return new Promise((resolve) => {
      const failed = (): void => resolve(false);
      this.#server.once('error', failed);
      this.#server.listen({ ...claimAddress({ host: this.#host, port }), backlog: 1024 }, () => {
        this.#server.off('error', failed);
        // clients send keys there: no other program may have it while this one is started again
        depositSocket(this.#server);
        resolve(true);
      });
    });
  }
}

function httpServer(choice: EndpointChoice, gate: SleepGate, options: ServiceListenerOptions): HttpServer {
  const { serviceName, room, clock, log, limits = LIMITS } = options;
  const server = plainHttp.createServer({
    ...serverOptions(limits),
    // the pod answers for itself
    requireHostHeader: false,
    shouldUpgradeCallback: asksToUpgrade,
    keepAliveTimeout: 30_000,
  });
  answerBrokenRequests(server);
  limitServer(server, { limits, clock, onCut: recordCuts(log, `service ${serviceName}`) });
  // a request that cannot be passed on closes only its own connection
  const behind = { endpoints: choice, gate, serviceName, clock };
  server.on('request', (incoming, response) => {
    response.once('close', room.begin(incoming.socket));
    forwardHttp(incoming, response, behind).catch(() => response.destroy());
  });
  server.on('upgrade', (incoming, client, head) => {
    room.begin(incoming.socket);
    const response = upgradeAnswer(incoming);
    if (response) forwardUpgrade(incoming, response, head, behind).catch(() => client.destroy());
  });
  return server;
}

async function tcp(client: Socket, choice: EndpointChoice): Promise<void> {
  const gone = new AbortController();
  client.once('close', () => gone.abort());
  client.on('error', () => client.destroy());
  // all bytes of both directions pass it
  client.setTimeout(TCP_IDLE_MS, () => client.destroy());
  const endpoint = await choice.choose(new Set(), 2_000, gone.signal);
  if (!endpoint) return void client.destroy();
  joinSockets(client, connect({ host: endpoint.host ?? '127.0.0.1', port: endpoint.port, noDelay: true }));
}
