import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errorText } from '#lib/errors';
import type { Clock } from '#lib/time';

/** Folders that installs, builds and tools write, and our own; people do not edit them. */
const LEFT_ALONE = /^(node_modules|\..+)$/;

/** A folder with more was named by mistake: each takes a handle of the operating system. */
const MAX_FOLDERS = 2_000;

/** Editors write a file in several steps. */
const SETTLE_MS = 50;

/** Follows the folders of an agent; a change is reported once what caused it has settled. */
export class SourceWatch {
  readonly name = 'watch';
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #changed = new Set<string>();
  #cancel: () => void = () => undefined;

  constructor(
    private readonly clock: Clock,
    private readonly onChange: (paths: readonly string[]) => void,
    private readonly onTrouble: (message: string) => void,
  ) {}

  /** Follows a folder with the folders in it. */
  followTree(folder: string): void {
    this.#follow(folder);
    if (this.#watchers.size >= MAX_FOLDERS) return;
    try {
      for (const entry of readdirSync(folder, { withFileTypes: true }))
        if (entry.isDirectory() && !LEFT_ALONE.test(entry.name)) this.followTree(join(folder, entry.name));
    } catch {
      // removed in the meantime
    }
  }

  /** Follows the folders of these files, which may be outside the agent's. */
  followFiles(files: Iterable<string>): void {
    for (const file of files) this.#follow(dirname(file));
  }

  async stop(): Promise<void> {
    this.#cancel();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #follow(folder: string): void {
    if (this.#watchers.has(folder) || this.#watchers.size >= MAX_FOLDERS) return;
    try {
      const watcher = watch(folder, (_kind, name) => name !== null && this.#note(join(folder, name)));
      watcher.on('error', () => this.#leave(folder)); // removed
      this.#watchers.set(folder, watcher);
    } catch (error) {
      this.onTrouble(`following ${folder} failed: ${errorText(error)}; changes in it are not seen`);
    }
  }

  #leave(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  #note(path: string): void {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) this.#leave(path);
    else if (found.isDirectory() && !LEFT_ALONE.test(basename(path))) this.followTree(path);
    this.#changed.add(path);
    this.#cancel();
    this.#cancel = this.clock.after(SETTLE_MS, () => {
      const paths = [...this.#changed];
      this.#changed.clear();
      this.onChange(paths);
    });
  }
}
