import { mkdtempSync, rmSync } from 'node:fs';
import type { OutgoingHttpHeaders } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseShort } from '#lib/json';
import { endSilent } from '../hosting/end-silent.js';
import { GraphProcess, type GraphProcessParts } from '../hosting/graph-process.js';
import type { NamedModule } from '../protocol/messages.js';
import type { AppExchange, AppProcess } from './app-exchange.js';
import type { LoadedApp } from './control.js';
import { SocketExchange } from './socket-exchange.js';

const NAME = 'HTTP app';

/** Of the paths of an app's routes. */
const MAX_PATHS_CHARS = 16 * 1024 * 1024;

export interface PythonAppParts extends Omit<GraphProcessParts, 'name' | 'keeper' | 'onLoad'> {
  readonly module: NamedModule;
}

/**
 * One process that has an agent's HTTP app in Python loaded. Requests go to it over a socket in a folder that only this
 * user may enter.
 */
export class PythonApp implements AppProcess {
  readonly loaded: Promise<void>;
  readonly ended: Promise<Error>;
  readonly #folder = mkdtempSync(join(tmpdir(), 'agentplane-app-'));
  readonly #socket = join(this.#folder, 'socket');
  readonly #process: GraphProcess;
  #paths: LoadedApp['paths'];
  #end: Error | undefined;

  constructor({ module, ...parts }: PythonAppParts) {
    this.#process = new GraphProcess({
      ...parts,
      name: NAME,
      // apps ask for no state
      keeper: new Promise<never>(() => undefined),
      order: { ...parts.order, graphs: [], module: { ...module, socket: this.#socket } },
    });
    endSilent(this.#process, { ...parts, name: NAME });
    this.ended = this.#process.ended.then((end) => {
      this.#end = end;
      rmSync(this.#folder, { recursive: true, force: true });
      return end;
    });
    this.loaded = this.#process.loaded.then(() => this.#learn());
    this.loaded.catch(() => undefined); // whoever waits for it hears of it
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
    return new SocketExchange(this.#socket, headers, isWhole);
  }

  kill(): void {
    this.#process.kill();
  }

  /** Its lifespan ends in order. */
  async leave(): Promise<void> {
    await this.#process.leave();
  }

  async #learn(): Promise<void> {
    const { paths } = parseShort(await this.#process.ask('paths', {}), MAX_PATHS_CHARS) as {
      paths: LoadedApp['paths'] | null;
    };
    this.#paths = paths ?? undefined;
  }
}
