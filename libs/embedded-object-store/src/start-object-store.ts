import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorText } from '#lib/errors';
import { claimAddress } from '#lib/held-sockets';
import {
  boundConnections,
  closeServer,
  ConnectionRoom,
  limitServer,
  listenOn,
  SERVER_LIMITS,
  type ServerLimits,
  serverOptions,
} from '#lib/http';
import { knownMethod, type Logger, metrics, recordCuts, statusClass } from '#lib/telemetry';
import { type Clock, systemClock } from '#lib/time';
import { urlHost } from '#lib/url';
import { sendXml } from './exchange.js';
import { MultipartFiles } from './multipart-files.js';
import { ObjectFiles } from './object-files.js';
import { bodyOf } from './request-body.js';
import { routeOf } from './routes.js';
import { S3Error } from './s3-error.js';
import { parseRequest, type S3Request } from './s3-request.js';
import { verifySignature } from './signature.js';
import { StoreFolder } from './store-folder.js';
import { authorize } from './users/access.js';
import { type StoreUsers, unrestrictedUser } from './users/store-user.js';

/** Criteria by which a fault is chosen. */
export interface FaultTarget {
  readonly method: string;
  readonly bucket: string;
  readonly key: string;
  readonly query: ReadonlyMap<string, string>;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Failure of one request, for tests of clients. */
export type Fault =
  /** The connection is cut before anything is done. */
  | { readonly kind: 'reset' }
  /** The request is done, then the connection is cut instead of an answer. */
  | { readonly kind: 'lost-answer' }
  /** The answer is this error and nothing is done. */
  | {
      readonly kind: 'error';
      readonly code:
        | 'InternalError'
        | 'SlowDown'
        | 'AccessDenied'
        | 'NotImplemented'
        | 'NoSuchUpload'
        | 'PreconditionFailed';
    }
  /** The request is done after this many milliseconds. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** The request is done once this is settled. */
  | { readonly kind: 'hold'; readonly until: Promise<unknown> };

export type FaultHook = (target: FaultTarget) => Fault | undefined;

// not by `import`: that reads every export of it, and one of them loads Node's WebSocket client, 6 MB and 60 ms
const { createServer } = process.getBuiltinModule('node:http');

export interface EmbeddedObjectStoreOptions {
  /** Folder of all data: one sub-folder for each bucket. Made when missing. */
  readonly folder: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The key of a user who may do everything; without it, users with their own rights are used. */
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly users?: StoreUsers;
  /** Answer to GetBucketLocation. Requests signed for any region are accepted. Default `us-east-1`. */
  readonly region?: string;
  /** Buckets to make when they are missing. */
  readonly buckets?: readonly string[];
  readonly log: Logger;
  readonly clock?: Clock;
  /** Uploads on which nothing has happened for so long are removed. Default 7 days. */
  readonly uploadMaxAgeMs?: number;
  /** Limits of clients; an upload as a whole may take any time. */
  readonly limits?: ServerLimits;
  /** Hook for tests of clients, called for every request with a valid signature. */
  readonly fault?: FaultHook;
}

export interface EmbeddedObjectStore {
  readonly name: 'object-store';
  readonly port: number;
  /** `http://HOST:PORT` */
  readonly endpoint: string;
  stop(): Promise<void>;
}

/** Idle connections outlive those of every usual client, so that a reused one is not cut while a request begins. */
const KEEP_ALIVE_MS = 75_000;
/** An upload may take as long as it likes: silence is limited, not the whole. */
const LIMITS: ServerLimits = { ...SERVER_LIMITS, bodyTotalMs: Infinity };
const UPLOAD_MAX_AGE_MS = 7 * 24 * 3_600_000;
/** It shares the descriptors of its process with other servers. */
const MAX_CONNECTIONS = 4_000;
/** Time for requests in progress to end. */
const CLOSE_MS = 3_000;
const EXPIRY_INTERVAL_MS = 3_600_000;

/**
 * Serves a folder as an S3 store: path-style addresses, signature version 4, objects as plain files that are whole or
 * not there. One process may own a folder at a time; the caller sees to that.
 */
export async function startObjectStore(options: EmbeddedObjectStoreOptions): Promise<EmbeddedObjectStore> {
  const folder = new StoreFolder(options.folder);
  await folder.prepare();
  for (const bucket of options.buckets ?? []) await folder.createBucket(bucket);
  const store = new RequestHandler(options, folder);
  const { limits = LIMITS, clock = systemClock, log } = options;
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS, ...serverOptions(limits) },
    (request, response) => {
      void store.handle(request, response);
    },
  );
  limitServer(server, { limits, clock, onCut: recordCuts(log, 'object store') });
  const room = new ConnectionRoom({
    clock,
    most: MAX_CONNECTIONS,
    onFull: (report) =>
      log.warn(
        report,
        'cut connections to the object store: as many are open as may be; "ss -tnp" names the processes of this machine that hold them',
      ),
  });
  boundConnections(server, room);
  server.on('connection', (socket) => socket.setNoDelay(true));
  const stopExpiring = store.expireUploads();
  const port = await listenOn(server, claimAddress({ host: options.host, port: options.port }));
  return {
    name: 'object-store',
    port,
    endpoint: `http://${urlHost(options.host)}:${port}`,
    // files of interrupted uploads are whole or missing
    stop: () => closeServer(server, { clock, patienceMs: CLOSE_MS }).then(stopExpiring),
  };
}

class RequestHandler {
  readonly #clock: Clock;
  readonly #objects: ObjectFiles;
  readonly #uploads: MultipartFiles;
  readonly #users: StoreUsers;

  constructor(
    private readonly options: EmbeddedObjectStoreOptions,
    private readonly folder: StoreFolder,
  ) {
    this.#clock = options.clock ?? systemClock;
    this.#objects = new ObjectFiles(folder);
    this.#users = usersOf(options);
    this.#uploads = new MultipartFiles(folder, this.#objects);
  }

  /** Expires uploads at once and every hour. @returns ends it */
  expireUploads(): () => Promise<void> {
    let cancel: (() => void) | undefined;
    let isStopped = false;
    const expire = async (): Promise<void> => {
      const age = this.options.uploadMaxAgeMs ?? UPLOAD_MAX_AGE_MS;
      const since = new Date(this.#clock.now().getTime() - age);
      const { log } = this.options;
      try {
        for (const { name } of await this.folder.listBuckets()) {
          const uploads = await this.#uploads.expire(name, since);
          if (uploads > 0) log.info({ bucket: name, uploads }, 'removed abandoned multipart uploads');
        }
      } catch (error) {
        log.warn({ error: errorText(error) }, 'removing abandoned multipart uploads failed');
      }
      if (!isStopped) cancel = this.#clock.after(EXPIRY_INTERVAL_MS, () => void (turn = expire()));
    };
    let turn = expire();
    return async () => {
      isStopped = true;
      cancel?.();
      await turn;
    };
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.once('close', () =>
      metrics.objectStoreRequests.add(1, {
        method: knownMethod(request.method),
        status_class: statusClass(response.statusCode),
      }),
    );
    response.setHeader('x-amz-request-id', randomBytes(8).toString('hex').toUpperCase());
    try {
      await this.#answer(request, response);
    } catch (error) {
      this.#fail(request, response, error);
    }
  }

  async #answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const now = this.#clock.now();
    const request = parseRequest(message);
    const signed = verifySignature(request, this.#users, now);
    const { handle, needs } = routeOf(request);
    authorize(signed.user, needs, request);
    if (await this.#injectFault(request, response)) return;
    const isBucketMade = request.method === 'PUT' && request.key === '';
    if (request.bucket !== '' && !isBucketMade) await this.folder.requireBucket(request.bucket);
    await handle({
      request,
      user: signed.user,
      body: bodyOf(message, signed),
      response,
      folder: this.folder,
      objects: this.#objects,
      uploads: this.#uploads,
      region: this.options.region ?? 'us-east-1',
      now,
    });
  }

  /** True when there is nothing left to do. */
  async #injectFault(request: S3Request, response: ServerResponse): Promise<boolean> {
    const fault = this.options.fault?.(request);
    if (!fault) return false;
    switch (fault.kind) {
      case 'reset':
        response.destroy();
        return true;
      case 'lost-answer':
        response.writeHead = () => {
          response.destroy();
          return response;
        };
        return false;
      case 'error':
        throw new S3Error(fault.code, 'Injected fault.');
      case 'delay':
        await this.#clock.sleep(fault.ms);
        return false;
      case 'hold':
        await fault.until;
        return false;
      default:
        return fault satisfies never;
    }
  }

  #fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    const { log } = this.options;
    const known = error instanceof S3Error ? error : undefined;
    const path = request.url?.split('?')[0];
    if (!known && request.socket.destroyed) {
      log.debug({ method: request.method, path }, 'client disconnected');
      return;
    }
    if (!known) log.error({ method: request.method, path, error: errorText(error) }, 'a request failed');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const answer =
      known ?? new S3Error('InternalError', 'We encountered an internal error. Please try again.');
    if (request.method === 'HEAD') {
      response.writeHead(answer.status).end();
      return;
    }
    sendXml(
      response,
      'Error',
      [
        ['Code', answer.code],
        ['Message', answer.message],
        ['Resource', path],
        ['RequestId', String(response.getHeader('x-amz-request-id'))],
      ],
      answer.status,
    );
  }
}

function usersOf({ accessKeyId, secretAccessKey, users }: EmbeddedObjectStoreOptions): StoreUsers {
  const master =
    accessKeyId !== undefined && secretAccessKey !== undefined
      ? unrestrictedUser({ accessKeyId, secretAccessKey })
      : undefined;
  return { find: (id) => (master?.accessKeyId === id ? master : users?.find(id)) };
}
