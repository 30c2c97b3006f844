import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type DataPaths, INSTALLATION, takeLock } from '#lib/data-folder';
import { installedMajor, withBaseBackup } from '#lib/embedded-postgres';
import type { Clock } from '#lib/time';
import { readTar, type TarItem } from '#lib/tar';
import { auditItems, fileItems, imageItems, onlyOf, sumOfFiles } from '../content/platform-items.js';
import { ObjectItems, sumOfObjects } from '../content/object-items.js';
import {
  type BackupHead,
  type BackupManifest,
  hasManifest,
  keyOf,
  newHead,
  progressPath,
  readProgress,
  writeManifest,
  writeProgress,
} from '../format/backup-manifest.js';
import { BackupKey, isWhole, type PartRecord, writePart } from '../part/part-file.js';
import type { BackupWatch } from './terminal-watch.js';
import { holdFiles } from './hold-sealed-files.js';
import type { BackupSource } from './open-source.js';

export interface TakeRequest {
  readonly source: BackupSource;
  /** Folder of the backup. */
  readonly folder: string;
  /** Goes on with what an interrupted backup left there. */
  readonly isResumed: boolean;
  readonly passphrase: string | undefined;
  readonly hasAuditLog: boolean;
  readonly watch: BackupWatch;
  readonly clock: Clock;
}

/** Objects of one part: this much is copied again after an interruption. */
const PART_BYTES = 256 << 20;
/**
 * The platform deletes files of sealed days an hour after they were replaced, unless a backup is under way: older databases
 * of an interrupted one may name some that are deleted.
 */
const OLDEST_DATABASES_MS = 50 * 60_000;
/** Clocks of file systems are coarse, and a step back of the clock should cost nothing. */
const OVERLAP_MS = 60_000;

/**
 * Copies a platform into a folder. A failure leaves finished parts and `progress.json`, from which
 * `isResumed` continues; a whole backup has `backup.json`.
 * @throws Error when the folder cannot be used, and errors of reading and writing
 */
export async function takeBackup(request: TakeRequest): Promise<BackupManifest> {
  const { folder } = request;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = takeLock(
    join(folder, 'lock'),
    ({ pid }) =>
      `a backup into ${folder} is being taken by process ${pid}; wait for its end, or name another folder`,
  );
  try {
    const begun = beginOrResume(request);
    const release = await holdFiles(request.source.superuserUri);
    try {
      return await new Taking(request, begun).run();
    } finally {
      await release();
    }
  } finally {
    lock.release();
  }
}

interface Begun {
  readonly head: BackupHead;
  readonly key: BackupKey | undefined;
  readonly parts: readonly PartRecord[];
}

function beginOrResume({ folder, isResumed, passphrase, source, clock }: TakeRequest): Begun {
  if (hasManifest(folder))
    throw new Error(`${folder} holds a complete backup; name another folder with --to`);
  const progress = readProgress(folder);
  if (!isResumed) {
    if (progress)
      throw new Error(
        `${folder} holds an interrupted backup; go on with --resume, or name another folder with --to`,
      );
    const others = readdirSync(folder).filter((name) => !/^lock(\.|$)|^lost\+found$/.test(name));
    if (others.length > 0)
      throw new Error(`${folder} is not empty: it has ${others[0] ?? ''}; name a new folder with --to`);
    const key = passphrase === undefined ? undefined : BackupKey.make(passphrase);
    const head = newHead({
      postgres: installedMajor(),
      installation: INSTALLATION,
      source: source.paths.root,
      startedAt: clock.now().toISOString(),
      ...(key ? { key: key.record } : {}),
    });
    return { head, key, parts: [] };
  }
  if (!progress) throw new Error(`${folder} holds no interrupted backup; leave --resume out`);
  const { parts, ...head } = progress;
  if (head.source !== source.paths.root || head.postgres !== installedMajor())
    throw new Error(
      `${folder} holds an interrupted backup of ${head.source}, and this is one of ${source.paths.root}; name another folder with --to`,
    );
  return { head, key: keyOf(folder, head.key, passphrase), parts };
}

/** One backup, stage by stage. The order of the stages is what makes it consistent: docs/design/backup.md. */
class Taking {
  readonly #request: TakeRequest;
  readonly #head: BackupHead;
  readonly #key: BackupKey | undefined;
  readonly #paths: DataPaths;
  #parts: readonly PartRecord[];

  constructor(request: TakeRequest, { head, key, parts }: Begun) {
    this.#request = request;
    this.#head = head;
    this.#key = key;
    this.#paths = request.source.paths;
    this.#parts = parts;
  }

  async run(): Promise<BackupManifest> {
    const { folder, clock, watch, source, hasAuditLog } = this.#request;
    await this.#keepWhole();
    if (source.hasOwnCluster)
      watch.note(
        'the Kubernetes objects of this platform are in a cluster of your own and not in this backup; back that up too',
      );
    if (!this.#has('databases')) await this.#objects('objects', undefined);
    if (!this.#has('databases')) await this.#databases();
    await this.#files('images', () => imageItems(this.#paths));
    await this.#files('files', () => fileItems(this.#paths));
    if (hasAuditLog) await this.#files('audit', () => auditItems(this.#paths));
    await this.#objects('changes', new Date(Date.parse(this.#head.startedAt) - OVERLAP_MS));
    const finishedAt = clock.now().toISOString();
    const manifest: BackupManifest = { ...this.#head, finishedAt, parts: this.#parts };
    writeManifest(folder, manifest, this.#key);
    rmSync(progressPath(folder), { force: true });
    watch.end();
    return manifest;
  }

  /**
   * Keeps the parts of an interrupted backup up to the first that is not whole; each is older than those
   * after it.
   */
  async #keepWhole(): Promise<void> {
    const { folder, watch } = this.#request;
    const whole: PartRecord[] = [];
    for (const part of this.#parts) {
      watch.stage(`checking ${part.name}`, part.bytes);
      if (!(await isWhole(folder, part)) || this.#isTooOld(part)) break;
      watch.bytes(part.bytes);
      whole.push(part);
    }
    watch.end();
    const kept = new Set(whole.map(({ file }) => file));
    for (const name of readdirSync(folder))
      if (/\.tar\.zst(\.sealed)?(\.partial)?$/.test(name) && !kept.has(name)) rmSync(join(folder, name));
    this.#parts = whole;
    this.#note();
  }

  #isTooOld({ name, file }: PartRecord): boolean {
    const { folder, clock } = this.#request;
    if (name !== 'databases') return false;
    return clock.now().getTime() - statSync(join(folder, file)).mtimeMs > OLDEST_DATABASES_MS;
  }

  #has(name: string): boolean {
    return this.#parts.some((part) => part.name === name);
  }

  #add(part: PartRecord): void {
    this.#parts = [...this.#parts, part];
    this.#note();
  }

  #note(): void {
    writeProgress(this.#request.folder, { ...this.#head, parts: this.#parts });
  }

  async #objects(stage: 'objects' | 'changes', since: Date | undefined): Promise<void> {
    const { watch } = this.#request;
    const taken = this.#parts.filter(({ name }) => name.startsWith(stage));
    const store = this.#paths.objects;
    if (!existsSync(store)) return;
    const items = await ObjectItems.begin(store, taken.at(-1)?.last, since);
    let done = taken.reduce((sum, { contentBytes }) => sum + contentBytes, 0);
    watch.stage(stage, await sumOfObjects(store, since));
    for (let number = taken.length + 1; items.hasMore; number++) {
      const name = `${stage}-${String(number).padStart(4, '0')}`;
      const before = done;
      const written = await this.#write(name, items.portion(PART_BYTES), (bytes) =>
        watch.bytes(before + bytes),
      );
      this.#add(items.last ? { ...written, last: items.last } : written);
      done += written.contentBytes;
    }
  }

  async #databases(): Promise<void> {
    const { source, watch } = this.#request;
    watch.stage('databases', undefined);
    const part = await withBaseBackup(source.superuserUri, ({ archive, expectedBytes }) => {
      watch.stage('databases', expectedBytes);
      return this.#write('databases', onlyOf('databases', readTar(archive)), (bytes) => watch.bytes(bytes));
    });
    this.#add(part);
  }

  async #files(name: string, items: () => AsyncIterable<TarItem>): Promise<void> {
    if (this.#has(name)) return;
    const { watch } = this.#request;
    watch.stage(name, await sumOfFiles(items()));
    this.#add(await this.#write(name, onlyOf(name, items()), (bytes) => watch.bytes(bytes)));
  }

  #write(name: string, items: AsyncIterable<TarItem>, onBytes: (bytes: number) => void): Promise<PartRecord> {
    return writePart({ folder: this.#request.folder, name, key: this.#key, onBytes }, items);
  }
}
