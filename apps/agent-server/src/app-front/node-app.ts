import type { ChildProcess } from 'node:child_process';
import { connect, type ClientHttp2Session, type OutgoingHttpHeaders } from 'node:http2';
import type { Duplex, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseShort } from '#lib/json';
import { wholeEnvironment } from '#lib/config';
import { TerminalError } from '#lib/errors';
import { REASON } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { SeenSources } from '../graph/graph-registry.js';
import { LastLines, onLines, parseHang, startChild } from '../hosting/child.js';
import { WATCH_FD } from '../protocol/frame.js';
import {
  type AppExchange,
  type AppOrder,
  type AppProcess,
  CONTROL_HEADER,
  type LoadedApp,
  REQUESTS_FD,
  SESSION_MEGABYTES,
  STREAM_WINDOW_BYTES,
} from './control.js';

const PROGRAM = fileURLToPath(new URL('../app-host/main.js', import.meta.url));

/** Limit of the description of an app: names of its files and packages. */
const MAX_DESCRIPTION_CHARS = 16 * 1024 * 1024;

/** Interval between pings. */
const PING_MS = 1_000;
/** A process that computes for this long without a pause is ended: every request waits for it. */
const KILL_MS = 30_000;

export interface AppProcessParts {
  readonly order: AppOrder;
  /** Receives the sources of the app. */
  readonly reports: SeenSources;
  /** Address of its own server; resolves once that listens. */
  readonly ownUrl: Promise<string>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** One process that has an agent's HTTP app in JavaScript loaded, and the requests that it answers. */
export class NodeApp implements AppProcess {
  /** Resolves once the app is loaded; rejects with a TerminalError when it is not, or when the process ends. */
  readonly loaded: Promise<void>;
  /** Resolves with how it ended. */
  readonly ended: Promise<Error>;
  readonly #child: ChildProcess;
  readonly #session: ClientHttp2Session;
  readonly #stderr = new LastLines();
  readonly #startedMs: number;
  #app: LoadedApp | undefined;
  #end: Error | undefined;
  #heardAtMs: number;
  #pingedAtMs = 0;
  #cancelPing: (() => void) | undefined;
  /** Place where it executes without a pause. */
  #hang: string | undefined;

  /** @throws Error when the machine has no memory or no descriptors for one */
  constructor(private readonly parts: AppProcessParts) {
    const { order, clock } = parts;
    this.#startedMs = clock.monotonicMs();
    this.#heardAtMs = this.#startedMs;
    const program = {
      command: process.execPath,
      args: [...process.execArgv, PROGRAM],
      folder: order.folder,
      environment: wholeEnvironment({}),
    };
    const { child, ended } = startChild(program, clock);
    this.#child = child;
    this.#session = connect('http://app.invalid', {
      createConnection: () => this.#child.stdio[REQUESTS_FD] as Duplex,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      maxSessionMemory: SESSION_MEGABYTES,
      maxHeaderListPairs: 4_000,
      // callers are headers too
      maxSendHeaderBlockLength: 2 ** 20,
    });
    this.#session.on('error', () => undefined); // its end follows
    this.#readLines();
    this.ended = ended.then((end) => this.#gone(typeof end === 'string' ? end : end.message));
    this.loaded = this.#load();
    this.loaded.catch(() => undefined); // its callers handle the rejection
    void parts.ownUrl.then((url) => this.#ask('serves', url)).catch(() => undefined); // its end is logged
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Paths that may reach the app; see `LoadedApp`. */
  get paths(): LoadedApp['paths'] {
    return this.#app?.paths;
  }

  /** Error with which it ended; undefined while it runs. */
  get end(): Error | undefined {
    return this.#end;
  }

  /** Milliseconds since it was last heard of. */
  get silentMs(): number {
    return this.#app ? this.parts.clock.monotonicMs() - this.#heardAtMs : 0;
  }

  describeLoad(): string | undefined {
    if (this.#app) return undefined;
    const seconds = Math.floor((this.parts.clock.monotonicMs() - this.#startedMs) / 1000);
    const at = this.#hang === undefined ? '' : `; it executes ${this.#hang}`;
    return `"http.app" has been loading for ${seconds} s${at}`;
  }

  /** Sends a request. @throws when the process has ended, or the headers are invalid */
  request(headers: OutgoingHttpHeaders, isWhole: boolean): AppExchange {
    return this.#session.request(headers, { endStream: isWhole });
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Resolves at once: its requests have been served or cut off, and it has nothing to keep. */
  async leave(): Promise<void> {
    this.kill();
    await this.ended;
  }

  async #load(): Promise<void> {
    const asked = this.#ask('load', this.parts.order);
    const ended = this.ended.then((end) => Promise.reject(end));
    const { status, body } = await Promise.race([asked, ended]);
    if (status !== 200) throw new TerminalError(REASON.graphLoadFailed, body);
    const app = parseShort(body, MAX_DESCRIPTION_CHARS) as LoadedApp;
    this.parts.reports.sources(app.sources);
    for (const url of app.packages) this.parts.reports.package(url);
    this.#app = app;
    this.#heardAtMs = this.parts.clock.monotonicMs();
    this.#pingedAtMs = this.#heardAtMs;
    this.#ping();
  }

  async #ask(order: string, body: unknown): Promise<{ readonly status: number; readonly body: string }> {
    const stream = this.#session.request({ ':method': 'POST', [CONTROL_HEADER]: order });
    const status = new Promise<number>((resolve, reject) => {
      stream.once('response', (headers) => resolve(Number(headers[':status'])));
      stream.once('error', reject);
      stream.once('close', () => reject(this.#end ?? new Error('the host of the HTTP app ended')));
    });
    stream.end(JSON.stringify(body));
    return { status: await status, body: await text(stream) };
  }

  #ping(): void {
    const { clock, log } = this.parts;
    if (this.#end) return;
    const nowMs = clock.monotonicMs();
    // this process stood still itself, and has read no answers
    if (nowMs - this.#pingedAtMs > 3 * PING_MS) this.#heardAtMs = nowMs;
    this.#pingedAtMs = nowMs;
    if (this.silentMs > KILL_MS) {
      log.error(
        { silentMs: Math.round(this.silentMs), stack: this.#hang },
        'HTTP app does not answer; it is ended',
      );
      return this.kill();
    }
    this.#cancelPing = clock.after(PING_MS, () => this.#ping());
    if (this.#session.destroyed || this.#session.closed) return;
    this.#session.ping((error: Error | null) => {
      if (error) return;
      this.#heardAtMs = clock.monotonicMs();
      this.#hang = undefined;
    });
  }

  #readLines(): void {
    const { log, order } = this.parts;
    onLines(this.#child.stderr as Readable, (line) => {
      this.#stderr.add(line);
      process.stderr.write(`${line}\n`);
    });
    onLines(this.#child.stdio[WATCH_FD] as Readable, (line) => {
      const hang = parseHang(line);
      if (!hang) return;
      this.#hang = hang.stack
        .join(' < ')
        .replaceAll(`file://${order.folder}/`, '')
        .replaceAll(`${order.folder}/`, '');
      log.warn({ stack: this.#hang }, 'HTTP app hangs');
    });
  }

  #gone(how: string): Error {
    this.#cancelPing?.();
    const said = this.#stderr.text;
    this.#end = new Error(`HTTP app ended: ${how}${said === '' ? '' : `; it wrote: ${said}`}`);
    this.#session.destroy();
    return this.#end;
  }
}
