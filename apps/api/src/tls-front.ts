import { statSync } from 'node:fs';
import type { IncomingMessage, Server as HttpServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type CertificateFiles, readServerCertificate } from '#lib/data-folder';
import { errorText } from '#lib/errors';
import { claimAddress, type ListenAddress } from '#lib/held-sockets';
import {
  answerBrokenRequests,
  boundConnections,
  closeServer,
  ConnectionRoom,
  GUARDED_SERVER,
  listenOn,
  serverOptions,
} from '#lib/http';
import type { Stoppable } from '#lib/lifecycle';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

const MAX_CONNECTIONS = 4_000;
const KEEP_ALIVE_MS = 72_000;
const HANDSHAKE_MS = 10_000;
/** Programs that renew certificates write two files; between them they do not match, and the next look finds both. */
const LOOK_MS = 5_000;
/** Time for answers in progress to end. */
const CLOSE_MS = 5_000;

/** Dependencies of a `TlsFront`. */
export interface TlsFrontParts {
  readonly address: ListenAddress;
  readonly files: CertificateFiles;
  /** Answers the requests, with all of its limits. */
  readonly behind: HttpServer;
  /** True for requests to change the protocol that it accepts as such. */
  readonly mayUpgrade: (request: IncomingMessage) => boolean;
  readonly log: Logger;
  readonly clock: Clock;
}

/**
 * The REST interface for other machines: TLS in front of the server that listens on this machine alone. Certificates that
 * are renewed in their files count for new connections within seconds; until both files fit, the old one stays in use.
 */
export class TlsFront implements Stoppable {
  readonly name = 'https';
  readonly #server: Server;
  #seen: string;
  #cancelLook: () => void = () => undefined;
  #isStopping = false;

  /** @throws Error that names the file that is wrong */
  constructor(private readonly parts: TlsFrontParts) {
    const { files, behind, log, clock } = parts;
    this.#seen = stampOf(files);
    const { certificate, key } = readServerCertificate(files);
    this.#server = createServer(
      {
        cert: certificate,
        key,
        handshakeTimeout: HANDSHAKE_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        ...GUARDED_SERVER,
        ...serverOptions(),
        shouldUpgradeCallback: parts.mayUpgrade,
      },
      (request, response) => {
        if (this.#isStopping) response.setHeader('connection', 'close');
        behind.emit('request', request, response);
      },
    );
    answerBrokenRequests(this.#server);
    this.#server.on('upgrade', (...upgrade: readonly unknown[]) => behind.emit('upgrade', ...upgrade));
    boundConnections(
      this.#server,
      new ConnectionRoom({
        clock,
        most: MAX_CONNECTIONS,
        onFull: (report) =>
          log.warn(report, 'cut connections to the REST interface: as many are open as may be'),
      }),
    );
  }

  /** Begins to serve; answers the port. */
  async listen(): Promise<number> {
    const { address, log } = this.parts;
    const port = await listenOn(this.#server, claimAddress(address), (error) =>
      log.error({ error: errorText(error) }, 'TLS listener failed'),
    );
    this.#lookLater();
    return port;
  }

  /** Answers the requests in flight, closes. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#cancelLook();
    await closeServer(this.#server, { clock: this.parts.clock, patienceMs: CLOSE_MS });
  }

  #lookLater(): void {
    this.#cancelLook = this.parts.clock.after(LOOK_MS, () => {
      this.#look();
      this.#lookLater();
    });
  }

  #look(): void {
    const { files, log } = this.parts;
    const stamp = stampOf(files);
    if (stamp === this.#seen) return;
    this.#seen = stamp;
    try {
      const { certificate, key, fingerprint, validTo } = readServerCertificate(files);
      this.#server.setSecureContext({ cert: certificate, key });
      log.info({ fingerprint, validTo }, 'serving with the renewed certificate');
    } catch (error) {
      log.warn(
        { error: errorText(error) },
        'certificate files changed and cannot be used; the former one stays',
      );
    }
  }
}

/** Changes whenever one of the files does. */
function stampOf({ certificate, key }: CertificateFiles): string {
  return [certificate, key]
    .map((path) => {
      const { mtimeMs = 0, size = 0, ino = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
      return `${mtimeMs} ${size} ${ino}`;
    })
    .join(', ');
}
