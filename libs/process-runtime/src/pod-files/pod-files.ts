import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What is kept of a pod on disk, so that a restarted node finds its ports and its processes again. */
export interface PodRecord {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Container port → real port on loopback. */
  readonly ports: Readonly<Record<string, number>>;
}

/** The folder of one pod: `pods/UID/`. */
export class PodFiles {
  readonly folder: string;

  constructor(podsFolder: string, uid: string) {
    this.folder = join(podsFolder, uid);
  }

  get recordFile(): string {
    return join(this.folder, 'pod.json');
  }

  get kubeconfigFile(): string {
    return join(this.folder, 'kubeconfig');
  }

  get tokenFile(): string {
    return join(this.folder, 'token');
  }

  /** Working directory of programs that bring none. */
  get workingFolder(): string {
    return join(this.folder, 'work');
  }

  processFile(container: string): string {
    return join(this.folder, `${container}.process.json`);
  }

  logFolder(container: string): string {
    return join(this.folder, 'logs', container);
  }

  terminationMessageFile(container: string): string {
    return join(this.folder, `${container}.termination`);
  }

  prepare(): void {
    mkdirSync(this.workingFolder, { recursive: true, mode: 0o700 });
  }

  readRecord(): PodRecord | undefined {
    return readJson<PodRecord>(this.recordFile);
  }

  writeRecord(record: PodRecord): void {
    writeWhole(this.recordFile, `${JSON.stringify(record)}\n`);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** `undefined` when the file is missing or was cut short by a crash. */
export function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Readers see the old file or the new one; only its owner reads it. */
export function writeWhole(file: string, text: string): void {
  const partial = `${file}.new`;
  writeFileSync(partial, text, { mode: 0o600 });
  renameSync(partial, file);
}
