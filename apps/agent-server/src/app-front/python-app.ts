import { closeSync, openSync, rmdirSync, unlinkSync } from 'node:fs';
import type { OutgoingHttpHeaders } from 'node:http2';
import { dirname } from 'node:path';
import { parseShort } from '#lib/json';
import { endSilent } from '../hosting/end-silent.js';
import { GraphProcess, type GraphProcessParts } from '../hosting/graph-process.js';
import type { NamedModule } from '../protocol/messages.js';
import type { AppExchange, AppProcess } from './app-exchange.js';
import { WORD_HEADER, type LoadedApp } from './control.js';
import { SocketExchange } from './socket-exchange.js';

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
