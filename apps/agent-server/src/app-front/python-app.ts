import { closeSync, openSync, rmdirSync, unlinkSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { constants, type OutgoingHttpHeaders } from 'node:http2';
import { dirname } from 'node:path';
import { Duplex } from 'node:stream';
import { parseShort } from '#lib/json';
import { endSilent } from '../hosting/child.js';
import { GraphProcess, type GraphProcessParts } from '../hosting/graph-process.js';
import type { NamedModule } from '../protocol/messages.js';
import { type AppExchange, type AppProcess, type LoadedApp, WORD_HEADER } from './control.js';

/**
 * A request over a local socket, with a separate connection: an app that breaks off breaks off nothing else.
 */
class SocketExchange extends Duplex implements AppExchange {
  rstCode: number | undefined;
  readonly #asked: ClientRequest;
  #answer: IncomingMessage | undefined;

  /** @param headers with `:method` and `:path` */
  constructor(socketPath: string, headers: OutgoingHttpHeaders, isWhole: boolean) {
    super();
    const { ':method': method, ':path': path, ...sent } = headers;
    this.#asked = request({
      socketPath,
      method: String(method),
      path: String(path),
      headers: { ...sent, ...(isWhole ? {} : { 'transfer-encoding': 'chunked' }) },
      agent: false,
      setDefaultHeaders: false,
    });
    this.#asked.once('response', (answer) => this.#answered(answer));
    this.#asked.on('error', () => this.#broken());
    if (isWhole) {
      this.#asked.end();
      this.end();
    } else this.#asked.flushHeaders();
  }

  close(code: number = constants.NGHTTP2_NO_ERROR): void {
    this.rstCode ??= code;
    this.destroy();
  }

  override _write(piece: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    // the rest of a body after its answer is of no use, and no reason to lose the answer
    this.#asked.write(piece, () => done());
  }

  override _final(done: () => void): void {
    this.#asked.end();
    done();
  }

  override _read(): void {
    this.#answer?.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#asked.destroy();
    done(error);
  }

  #answered(answer: IncomingMessage): void {
    this.#answer = answer;
    answer.pause();
    this.emit('response', { ...answer.headers, ':status': answer.statusCode });
    answer.on('data', (piece: Buffer) => {
      if (!this.push(piece)) answer.pause();
    });
    answer.once('end', () => this.push(null));
    // also for a socket that has ended normally
    answer.once('close', () => !answer.complete && this.#broken());
  }

  #broken(): void {
    this.rstCode ??= constants.NGHTTP2_INTERNAL_ERROR;
    this.destroy();
  }
}

const NAME = 'HTTP app';

/** Limit of the paths of an app's routes. */
const MAX_PATHS_CHARS = 16 * 1024 * 1024;

/** `O_PATH` of Linux: the descriptor refers to the file, and connects to a socket whose name was removed. */
const O_PATH = 0o10000000;

export interface PythonAppParts extends Omit<GraphProcessParts, 'name' | 'keeper' | 'onLoad'> {
  readonly module: NamedModule;
}

/** Answer of an app in Python once it has loaded. */
interface Opened {
  readonly paths: LoadedApp['paths'] | null;
  /** Socket on which it answers requests, in a separate folder. */
  readonly socket: string;
  /** Secret that each request shows. */
  readonly word: string;
}

/**
 * One process that has an agent's HTTP app in Python loaded. Requests go to it over a socket without a name:
 * its folder is removed as soon as a descriptor refers to it, so none is left behind and no cleanup job
 * removes it. Processes of the same user that find the descriptor do not have the word that requests show.
 */
export class PythonApp implements AppProcess {
  readonly loaded: Promise<void>;
  readonly ended: Promise<Error>;
  readonly #process: GraphProcess;
  #paths: LoadedApp['paths'];
  #socket: number | undefined;
  #word = '';
  #end: Error | undefined;

  constructor({ module, ...parts }: PythonAppParts) {
    this.#process = new GraphProcess({
      ...parts,
      name: NAME,
      order: { ...parts.order, graphs: [], module },
    });
    endSilent(this.#process, { ...parts, name: NAME });
    this.ended = this.#process.ended.then((end) => {
      this.#end = end;
      if (this.#socket !== undefined) closeSync(this.#socket);
      this.#socket = undefined;
      return end;
    });
    this.loaded = this.#process.loaded.then(() => this.#learn());
    this.loaded.catch(() => undefined); // its callers handle the rejection
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get paths(): LoadedApp['paths'] {
    return this.#paths;
  }

  get end(): Error | undefined {
    return this.#end;
  }

  get silentMs(): number {
    return this.#process.silentMs;
  }

  describeLoad(): string | undefined {
    return this.#process.describeLoad();
  }

  request(headers: OutgoingHttpHeaders, isWhole: boolean): AppExchange {
    if (this.#socket === undefined) throw new Error(`${NAME} has ended`);
    const path = `/proc/self/fd/${this.#socket}`;
    return new SocketExchange(path, { ...headers, [WORD_HEADER]: this.#word }, isWhole);
  }

  kill(): void {
    this.#process.kill();
  }

  /** Lets its lifespan end in order. */
  async leave(): Promise<void> {
    await this.#process.leave();
  }

  async #learn(): Promise<void> {
    const opened = parseShort(await this.#process.ask('paths', {}), MAX_PATHS_CHARS) as Opened;
    const { paths, socket, word } = opened;
    const found = openSync(socket, O_PATH);
    // only the socket, no other file: the agent names the folder
    unlinkSync(socket);
    rmdirSync(dirname(socket));
    if (this.#end) {
      closeSync(found);
      throw this.#end;
    }
    this.#socket = found;
    this.#word = word;
    this.#paths = paths ?? undefined;
  }
}
