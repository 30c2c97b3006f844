import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { Duplex, Readable, Writable } from 'node:stream';
import { type ObjectKey, PODS } from '#lib/resources';
import type { WebSocket } from 'ws';
import type { KubeConnection } from '../connection/kube-connection.js';
import { KubeUnreachableError, parseStatus } from './kube-api-error.js';
import { objectPath } from './request-options.js';

/** First byte of each message. */
const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;
/** The first of them can end the input alone; Kubernetes has it from 1.30 on. */
const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
/** Forwarded ports have no newer one. */
const PORT_PROTOCOL = 'v4.channel.k8s.io';
const CONNECT_MS = 15_000;

/** Columns and rows of a terminal. */
export interface TerminalSize {
  readonly Width: number;
  readonly Height: number;
}

/** A program in a container: a new one of `command`, or without it the one that runs there. */
export interface PodProgram {
  readonly container: string | undefined;
  readonly command?: readonly string[];
  readonly stdin?: Readable;
  readonly stdout: Writable;
  /** Absent with a terminal, which has one output. */
  readonly stderr?: Writable;
  /** Sizes of the terminal, beginning with the present one; the program then gets a terminal. */
  readonly sizes?: AsyncIterable<TerminalSize>;
}

/**
 * Runs a program in a container, or attaches to the one that runs, until it ends or the connection does.
 * @returns its exit code; undefined where the server reported none
 * @throws KubeApiError when the server refused or could not start it, KubeUnreachableError when there was no answer
 */
export async function runInPod(
  connection: KubeConnection,
  pod: ObjectKey,
  program: PodProgram,
): Promise<number | undefined> {
  const { container, command, stdin, stdout, stderr, sizes } = program;
  const query = new URLSearchParams({
    ...(container === undefined ? {} : { container }),
    stdin: `${stdin !== undefined}`,
    stdout: 'true',
    stderr: `${stderr !== undefined}`,
    tty: `${sizes !== undefined}`,
  });
  for (const word of command ?? []) query.append('command', word);
  const path = `${objectPath(PODS, pod, command ? 'exec' : 'attach')}?${query.toString()}`;
  const socket = await openSocket(connection, path, PROTOCOLS);
  let status: string | undefined;
  socket.on('message', (message: Buffer) => {
    const body = message.subarray(1);
    if (message[0] === CHANNEL.stdout) pass(socket, body, stdout);
    else if (message[0] === CHANNEL.stderr) pass(socket, body, stderr ?? stdout);
    else if (message[0] === CHANNEL.status) {
      status = body.toString('utf8');
      socket.close();
    }
  });
  socket.resume();
  const ended = once(socket, 'close');
  const sending = Promise.all([
    stdin && sendAll(socket, CHANNEL.stdin, stdin).then(() => endInput(socket)),
    sizes && sendAll(socket, CHANNEL.resize, texts(sizes)),
  ]);
  // a program that ends before it has read its input says why by its status
  sending.catch(() => undefined);
  await ended;
  return status === undefined ? undefined : exitCodeOf(status);
}

/**
 * Joins a local stream with a port of a pod until either side ends.
 * @throws KubeApiError, KubeUnreachableError, Error with what the node reported
 */
export async function forwardPort(
  connection: KubeConnection,
  pod: ObjectKey,
  port: number,
  local: Duplex,
): Promise<void> {
  const path = `${objectPath(PODS, pod, 'portforward')}?ports=${port}`;
  const socket = await openSocket(connection, path, [PORT_PROTOCOL]);
  let trouble = '';
  const begun = new Set<number>();
  socket.on('message', (message: Buffer) => {
    const [channel = 0] = message;
    // the first message of each channel is the number of the port
    if (!begun.has(channel)) begun.add(channel);
    else if (channel === 0) pass(socket, message.subarray(1), local);
    else trouble += message.subarray(1).toString('utf8');
  });
  socket.resume();
  const ended = once(socket, 'close').then(() => local.end());
  local.once('close', () => socket.close());
  await sendAll(socket, CHANNEL.stdin, local).catch(() => undefined);
  if (!local.writableEnded) await once(local, 'close').catch(() => undefined);
  socket.close();
  await ended;
  if (trouble !== '') throw new Error(trouble.trim());
}

/**
 * Makes a port of a pod reachable on this machine, for each connection anew, until the server is closed.
 * @param place port and address to listen at; port 0 takes a free one
 * @param onTrouble hears why a connection ended
 */
export async function listenForPod(
  connection: KubeConnection,
  pod: ObjectKey,
  port: number,
  place: { readonly port: number; readonly host: string },
  onTrouble: (error: unknown) => void,
): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    forwardPort(connection, pod, port, socket).catch((error: unknown) => {
      socket.destroy();
      onTrouble(error);
    });
  });
  server.listen(place);
  await once(server, 'listening');
  return server;
}

async function openSocket(
  connection: KubeConnection,
  path: string,
  protocols: readonly string[],
): Promise<WebSocket> {
  const { WebSocket } = await import('ws');
  const { ca, clientCertificate: cert, clientKey: key, tlsServerName: servername } = connection;
  const authorization = await connection.auth.authorization();
  const socket = new WebSocket(`${connection.server.replace(/^http/, 'ws')}${path}`, [...protocols], {
    handshakeTimeout: CONNECT_MS,
    perMessageDeflate: false,
    rejectUnauthorized: !connection.insecureSkipTlsVerify,
    ...(authorization === undefined ? {} : { headers: { authorization } }),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(servername === undefined ? {} : { servername }),
  });
  return await new Promise((opened, reject) => {
    const shown = path.split('?')[0] ?? path;
    socket.once('open', () => {
      // the first messages may come with the answer that opens it, before anyone listens
      socket.pause();
      opened(socket);
    });
    socket.on('error', (error) => reject(new KubeUnreachableError('GET', shown, error)));
    socket.once('unexpected-response', (_request, response) => {
      if (response.statusCode === 401) connection.auth.rejected?.();
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.once('close', () => reject(parseStatus(response.statusCode ?? 502, text)));
    });
  });
}

/** Waits for each message to leave, so that a slow connection slows its source. */
async function sendAll(
  socket: WebSocket,
  channel: number,
  source: AsyncIterable<Buffer | string>,
): Promise<void> {
  for await (const piece of source) {
    const message = Buffer.concat([Buffer.of(channel), Buffer.from(piece)]);
    await new Promise<void>((sent, reject) =>
      socket.send(message, (error) => (error ? reject(error) : sent())),
    );
  }
}

async function* texts(sizes: AsyncIterable<TerminalSize>): AsyncGenerator<string> {
  for await (const size of sizes) yield JSON.stringify(size);
}

function endInput(socket: WebSocket): void {
  if (socket.protocol === PROTOCOLS[0]) socket.send(Buffer.of(CHANNEL.close, CHANNEL.stdin));
}

/** A reader that is slow stops the connection instead of filling the memory. */
function pass(socket: WebSocket, body: Buffer, target: Writable): void {
  if (target.writableEnded || target.write(body)) return;
  socket.pause();
  target.once('drain', () => socket.resume());
}

interface Ended {
  readonly status?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

function exitCodeOf(text: string): number {
  const ended = JSON.parse(text) as Ended;
  if (ended.status === 'Success') return 0;
  const code = ended.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  if (ended.reason === 'NonZeroExitCode' && code !== undefined) return Number(code);
  throw parseStatus(500, text);
}
