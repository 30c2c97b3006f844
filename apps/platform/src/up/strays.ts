import { readJson, writeJson } from '#lib/data-folder';
import { endProcess, isRunning, type ProcessIdentity } from '#lib/process-identity';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

type Records = Readonly<Record<string, ProcessIdentity>>;

/** The programs that were started, by name, so that a start after a crash finds those that are still there. */
export class ProcessRecords {
  readonly #path: string;
  #records: Records;

  constructor(path: string) {
    this.#path = path;
    this.#records = readJson<Records>(path) ?? {};
  }

  set(name: string, identity: ProcessIdentity | undefined): void {
    const others = Object.entries(this.#records).filter(([one]) => one !== name);
    this.#records = Object.fromEntries(identity ? [...others, [name, identity]] : others);
    try {
      writeJson(this.#path, this.#records);
    } catch {
      // a full disk must not end the supervisor: the next change writes them all, and until then only a crash misses them
    }
  }

  /**
   * Ends whatever an earlier life left running. A child whose loop is blocked never sees its channel close, and a second
   * copy of it must not start beside it.
   */
  async endStrays(clock: Clock, log: Logger): Promise<void> {
    for (const [name, identity] of Object.entries(this.#records)) {
      if (isRunning(identity)) {
        log.warn(
          { program: name, pid: identity.pid },
          'stopping a program that an earlier start left running',
        );
        await endProcess(identity, { clock, graceMs: 3_000, group: true });
      }
      this.set(name, undefined);
    }
  }
}
