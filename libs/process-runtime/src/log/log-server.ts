import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { errorText } from '#lib/errors';
import { claimAddress } from '#lib/held-sockets';
import { boundConnections, ConnectionRoom, limitServer, SERVER_LIMITS, serverOptions } from '#lib/http';
import { collectionPath, type KubeClient } from '#lib/kube';
import type { ResourceRef } from '#lib/resources';
import { type Logger, recordCuts } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { LogFile } from './log-file.js';
import { hasLog, parseLogQuery, readLog } from './read-log.js';

/** Location of the logs of one container. */
export interface ContainerLog {
  readonly folder: string;
  /** Number of the newest attempt that has started, or of the first when none has. */
  readonly newestAttempt: number;
  /**
   * Reason why the container has no running attempt; undefined while it runs and after it has ended for good.
   */
  readonly waitingReason: string | undefined;
  /** The log that is being written. */
  readonly live: LogFile | undefined;
}

/** Finds logs of the pods on this node. */
interface PodLogs {
  find(namespace: string, pod: string, container: string): ContainerLog | undefined;
}

const REVIEWS: ResourceRef = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};

/**
 * Asks the API server whether a reader may use the endpoints of this node, as a kubelet does: a certificate of the
 * cluster's CA alone says nothing, nodes and agents may have one too.
 */
export async function mayReadLogs(client: KubeClient, nodeName: string, reader: LogReader): Promise<boolean> {
  if (reader.user === '') return false;
  const answer = (await client.raw('POST', collectionPath(REVIEWS), {
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: REVIEWS.kind,
      spec: {
        ...reader,
        resourceAttributes: { verb: 'get', resource: 'nodes', subresource: 'proxy', name: nodeName },
      },
    },
  })) as { readonly status?: { readonly allowed?: boolean } };
  return answer.status?.allowed === true;
}

/** Identity of the node and the clients that it accepts. */
export interface ServingIdentity {
  /** PEM. */
  readonly certificate: string;
  readonly privateKey: string;
  /** PEM of the CA whose client certificates may ask. */
  readonly clientCa: string;
}

export interface LogServerOptions {
  readonly serving: ServingIdentity;
  readonly logs: PodLogs;
  /** Resolves to true when the owner of a client certificate may read logs. */
  readonly mayRead: (reader: LogReader) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Connections at once; default 1,000. */
  readonly maxConnections?: number;
}

/** User that a client certificate names. */
interface LogReader {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Connections of the API server and of people who follow logs. */
const MAX_CONNECTIONS = 1_000;

/** `GET /containerLogs/NAMESPACE/POD/CONTAINER`, as kubelets serve it. */
export class LogServer {
  readonly #options: LogServerOptions;
  readonly #server: Server;

  constructor(options: LogServerOptions) {
    this.#options = options;
    const { certificate, privateKey, clientCa } = options.serving;
    this.#server = createServer(
      {
        cert: certificate,
        key: privateKey,
        ca: clientCa,
        requestCert: true,
        rejectUnauthorized: true,
        ...serverOptions(),
        handshakeTimeout: SERVER_LIMITS.headersMs,
      },
      (request, response) => void this.#answer(request, response),
    );
    const { clock, log, maxConnections = MAX_CONNECTIONS } = options;
    limitServer(this.#server, { clock, onCut: recordCuts(log, 'node logs') });
    const room = new ConnectionRoom({
      clock,
      most: maxConnections,
      onFull: (report) =>
        log.warn(
          report,
          'cut connections to the logs of the node: as many are open as may be; "ss -tnp" names the processes of this machine that hold them',
        ),
    });
    boundConnections(this.#server, room);
    this.#server.on('tlsClientError', () => undefined); // TLS refuses a client without a valid certificate
  }

  /** The wished port, or any when that is taken or 0. */
  async listen(wished: number): Promise<number> {
    const port = (await this.#tryListen(wished)) ?? (await this.#tryListen(0));
    if (port === undefined) throw new Error('serving pod logs failed: no free port on 127.0.0.1');
    return port;
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  #tryListen(port: number): Promise<number | undefined> {
    return new Promise((resolve) => {
      const failed = (): void => resolve(undefined);
      this.#server.once('error', failed);
      this.#server.listen(claimAddress({ host: '127.0.0.1', port }), () => {
        this.#server.off('error', failed);
        const address = this.#server.address();
        resolve(typeof address === 'object' ? address?.port : undefined);
      });
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (!(await this.#options.mayRead(readerOf(request))))
        return refuse(response, 403, 'forbidden: the client certificate may not read pod logs');
      const url = new URL(request.url ?? '/', 'https://node');
      const [, root, namespace, pod, container, more] = url.pathname.split('/').map(decodeURIComponent);
      if (request.method !== 'GET' || root !== 'containerLogs' || !container || more !== undefined)
        return refuse(response, 404, 'not found; the only path is /containerLogs/NAMESPACE/POD/CONTAINER');
      await this.#stream(
        { namespace: namespace ?? '', pod: pod ?? '', container, query: url.searchParams },
        response,
      );
    } catch (error) {
      this.#options.log.warn({ problem: errorText(error) }, 'reading a container log failed');
      refuse(response, 500, 'reading the container log failed');
    }
  }

  async #stream(
    {
      namespace,
      pod,
      container,
      query,
    }: { namespace: string; pod: string; container: string; query: URLSearchParams },
    response: ServerResponse,
  ): Promise<void> {
    const { logs, clock } = this.#options;
    const found = logs.find(namespace, pod, container);
    if (!found)
      return refuse(response, 404, `container ${container} of pod ${namespace}/${pod} is not on this node`);
    const wanted = parseLogQuery(query, clock.now());
    const { newestAttempt, waitingReason } = found;
    // while the container waits for its next attempt, the last one is both the newest and the previous
    const attempt = wanted.previous && waitingReason === undefined ? newestAttempt - 1 : newestAttempt;
    if (attempt < 0 || !hasLog(found.folder, attempt)) {
      const text = wanted.previous
        ? `previous terminated container "${container}" in pod "${pod}" not found`
        : `container "${container}" in pod "${pod}" is waiting to start: ${waitingReason ?? ''}`;
      return refuse(response, 400, text);
    }
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.flushHeaders();
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the reader disconnected')));
    const live = found.live?.attempt === attempt ? found.live : undefined;
    for await (const text of readLog(found.folder, attempt, wanted, live, { clock, signal: gone.signal })) {
      if (gone.signal.aborted) break;
      if (!response.write(text)) await drained(response);
    }
    response.end();
  }
}

function readerOf({ socket }: IncomingMessage): LogReader {
  const { subject } = (socket as TLSSocket).getPeerCertificate();
  return { user: [subject?.CN ?? []].flat()[0] ?? '', groups: [subject?.O ?? []].flat() };
}

function refuse(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`);
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
