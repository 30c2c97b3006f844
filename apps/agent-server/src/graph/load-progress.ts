import { type CompiledSources, EVALUATED } from '#lib/graph-sources';
import type { GraphSource } from './graph-folder.js';

/** Causes for which a process waits, by the names that Node has for them. */
const RESOURCES: Readonly<Record<string, string>> = {
  TCPSocketWrap: 'a network connection',
  TCPConnectWrap: 'a network connection',
  TLSWrap: 'a network connection',
  GetAddrInfoReqWrap: 'the look-up of a host name',
  Timeout: 'a timer',
  ProcessWrap: 'another process',
  FSReqPromise: 'a file',
  FSReqCallback: 'a file',
};

/** Progress of a load. */
export interface LoadPlace {
  readonly graphId: string;
  /** The agent's file that is being evaluated. */
  readonly file: string;
  /** Resources that the process waits for, in words; empty when Node knows of none. */
  readonly waitsFor: readonly string[];
}

/** Graph that is being loaded, and the agent's file that is being evaluated. */
export class LoadProgress {
  #loading: GraphSource | undefined;
  #sources: CompiledSources | undefined;
  readonly #evaluated = new Set<string>();

  /** @param onChange called as soon as another graph or file is being evaluated: it may never return */
  constructor(private readonly onChange: (place: LoadPlace) => void = () => undefined) {
    Reflect.set(globalThis, EVALUATED, (path: string) => {
      this.#evaluated.add(path);
      this.report();
    });
  }

  follow(sources: CompiledSources): void {
    this.#sources = sources;
  }

  begin(source: GraphSource): void {
    this.#loading = source;
    this.report();
  }

  /** Ends the progress: everything is loaded, and later imports of agents are not tracked. */
  end(): void {
    this.#loading = undefined;
  }

  report(): void {
    if (!this.#loading) return;
    const { graphId, file } = this.#loading;
    this.onChange({ graphId, file: this.#pendingFile(file) ?? file, waitsFor: waitsFor() });
  }

  /** The file that is not evaluated while all that it imports is. */
  #pendingFile(file: string, seen = new Set<string>()): string | undefined {
    if (seen.has(file) || !this.#sources?.modules.has(file) || this.#evaluated.has(file)) return undefined;
    seen.add(file);
    for (const target of this.#sources.targets.get(file)?.values() ?? []) {
      const pending = this.#pendingFile(target, seen);
      if (pending !== undefined) return pending;
    }
    return file;
  }
}

function waitsFor(): string[] {
  const found = process.getActiveResourcesInfo().flatMap((name) => RESOURCES[name] ?? []);
  return [...new Set(found)];
}
