import type { Clock } from '#lib/time';
import type { CompiledSources } from './compile-sources.js';
import { EVALUATED } from './compile-sources.js';
import type { GraphSource } from './graph-folder.js';

/** What keeps a process waiting, by the names that Node has for it. */
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

/** Which graph is being loaded, since when, and in which of the agent's files its evaluation is. */
export class LoadProgress {
  #loading: { readonly source: GraphSource; readonly sinceMs: number } | undefined;
  #sources: CompiledSources | undefined;
  readonly #evaluated = new Set<string>();

  constructor(private readonly clock: Clock) {
    Reflect.set(globalThis, EVALUATED, (path: string) => this.#evaluated.add(path));
  }

  follow(sources: CompiledSources): void {
    this.#sources = sources;
  }

  begin(source: GraphSource): void {
    this.#loading = { source, sinceMs: this.clock.monotonicMs() };
  }

  /** A sentence about the graph that is being loaded; undefined when none is. */
  describe(): string | undefined {
    if (!this.#loading) return undefined;
    const { source, sinceMs } = this.#loading;
    const seconds = Math.floor((this.clock.monotonicMs() - sinceMs) / 1000);
    const file = this.#pendingFile(source.file) ?? source.file;
    return `graph "${source.graphId}" has been loading for ${seconds} s; it is in ${file}${waitsFor()}`;
  }

  /** The file whose evaluation is not complete while that of all it imports is. */
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

function waitsFor(): string {
  const found = new Set(process.getActiveResourcesInfo().map((name) => RESOURCES[name]));
  found.delete(undefined);
  return found.size === 0 ? '' : `, which waits for ${[...found].join(' and ')}`;
}
