import type { AgentReport } from '#lib/lifecycle';

/**
 * Reports the sources of the agent and the end of the start to the process that started this one, if that
 * asked for it.
 */
export class ParentReports {
  readonly #sources = new Set<string>();
  readonly #packages = new Set<string>();

  constructor(private readonly isWanted: boolean) {}

  /**
   * Reports sources. Graphs, handlers, app and components report theirs one after the other; together they
   * are the sources of the agent.
   */
  sources(files: readonly string[]): void {
    for (const file of files) this.#sources.add(file);
    this.#send({ kind: 'agent-sources', files: [...this.#sources] });
  }

  /** A module of a package that a file of the agent imports. */
  package(url: string): void {
    if (this.isWanted) this.#packages.add(url);
  }

  ready(port: number): void {
    this.#send({ kind: 'agent-ready', port, packages: [...this.#packages] });
  }

  failed(reason: string, message: string): void {
    this.#send({ kind: 'agent-failed', reason, message });
  }

  #send(report: AgentReport): void {
    // a parent that is ending closes the channel first
    if (this.isWanted && process.connected) process.send?.(report, undefined, undefined, () => undefined);
  }
}
