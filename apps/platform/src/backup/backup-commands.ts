import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type BACKUP, type BACKUP_VERIFY, type FlagsOf, type RESTORE, visibleText } from '#lib/command-line';
import { dataPaths } from '#lib/data-folder';
import { endProcess, EXIT } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { kindOfPart, onlyOf } from './content/platform-items.js';
import { type OpenBackup, openBackup } from './format/backup-manifest.js';
import { readPart } from './part/part-file.js';
import { restoreBackup } from './restore/restore-backup.js';
import { openSource } from './take/open-source.js';
import { takeBackup } from './take/take-backup.js';
import { type BackupWatch, renderBytes, TerminalWatch } from './take/terminal-watch.js';

/** Content of a backup, once all of it was read. */
export interface VerifiedBackup {
  readonly parts: number;
  readonly entries: number;
  readonly contentBytes: number;
}

/** Reads a backup to its end: every checksum, every archive, every count, every place. @throws Error with file and place */
export async function verifyBackup(
  { folder, manifest, key }: OpenBackup,
  watch: BackupWatch,
): Promise<VerifiedBackup> {
  let entries = 0;
  let contentBytes = 0;
  for (const part of manifest.parts) {
    watch.stage(part.name, part.bytes);
    const items = readPart(folder, part, key, (bytes) => watch.bytes(bytes));
    for await (const { entry } of onlyOf(kindOfPart(part), items)) {
      entries++;
      contentBytes += entry.bytes;
    }
  }
  watch.end();
  return { parts: manifest.parts.length, entries, contentBytes };
}

/** Postgres has its own log; what its start says belongs to no terminal. */
const log = createLogger('backup', 'silent');

/** Names in a backup are of who wrote it, and a terminal obeys what it reads. */
function say(text: string): void {
  process.stdout.write(`${visibleText(text)}\n`);
}

/** Files are for their owner only, and an interrupt reports how to continue. */
function begin(onInterrupt: string): TerminalWatch {
  process.umask(0o077);
  process.once('SIGINT', () => {
    process.stderr.write(`\nInterrupted. ${onInterrupt}\n`);
    endProcess(EXIT.interrupted);
  });
  return new TerminalWatch(process.stderr, systemClock);
}

function passphraseOf(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const passphrase = readFileSync(file, 'utf8').split(/\r?\n/)[0] ?? '';
  if (passphrase.length < 8)
    throw new Error(`the first line of ${file} has fewer than 8 characters: choose a longer passphrase`);
  return passphrase;
}

/** Rethrows an error of the operating system as a sentence with the next step. */
function named(folder: string, next: string): (error: unknown) => never {
  return (error) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
    throw new Error(`no space left on the disk of ${folder}; free some, and ${next}`, { cause: error });
  };
}

/** `agentplane backup`. */
export async function runBackup(flags: FlagsOf<typeof BACKUP.options>): Promise<number> {
  if (flags.to === undefined) {
    process.stderr.write('the folder of the backup is missing: name a new one with --to FOLDER\n');
    return EXIT.usage;
  }
  const folder = resolve(flags.to);
  const again = `agentplane backup --data ${dataPaths(flags.data).root} --to ${folder} --resume`;
  const watch = begin(`Finished parts stay; "${again}" goes on.`);
  const source = await openSource(flags.data, { clock: systemClock, log });
  if (!source.isRunning)
    watch.note('the platform is not running: its Postgres is started alone for this, and stopped again');
  try {
    const { parts } = await takeBackup({
      source,
      folder,
      watch,
      clock: systemClock,
      isResumed: flags.resume,
      passphrase: passphraseOf(flags.passphraseFile),
      hasAuditLog: flags.auditLog,
    }).catch(named(folder, `go on with "${again}"; finished parts stay, the unfinished one was removed`));
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    say(`Backup complete: ${folder}, ${renderBytes(bytes)} in ${parts.length} parts.`);
    if (flags.passphraseFile === undefined)
      say(
        'It holds every secret of the platform, readable by you alone. Keep it so, or encrypt it where it goes.',
      );
    return EXIT.ok;
  } finally {
    await source.close();
  }
}

/** `agentplane backup verify`. */
export async function runVerify(
  folder: string,
  { passphraseFile }: FlagsOf<typeof BACKUP_VERIFY.options>,
): Promise<void> {
  const watch = begin('Nothing was changed.');
  const backup = openBackup(resolve(folder), passphraseOf(passphraseFile));
  const { parts, entries, contentBytes } = await verifyBackup(backup, watch);
  const { platform, source, startedAt, machine } = backup.manifest;
  say(
    `Backup of ${source} (Agentplane ${platform}, ${machine}), begun ${startedAt}: ${parts} parts, ${entries} entries, ${renderBytes(contentBytes)}; all as written.`,
  );
}

/** `agentplane restore`. */
export async function runRestore(folder: string, flags: FlagsOf<typeof RESTORE.options>): Promise<void> {
  const watch = begin('The same command begins anew.');
  const backup = openBackup(resolve(folder), passphraseOf(flags.passphraseFile));
  const { root } = dataPaths(flags.data);
  const { movedTo, databases } = await restoreBackup({
    backup,
    watch,
    log,
    clock: systemClock,
    dataFolder: root,
    isForced: flags.force,
  }).catch(named(root, 'run the same command again: what was restored is no platform yet'));
  if (movedTo !== undefined) say(`What was in the folder is in ${movedTo}.`);
  say(`Restored ${root}: ${databases} databases, as they were when the backup was taken.`);
  say(`Start it with: agentplane up --data ${root}`);
  say('While the original runs too, crons, exports and webhooks of both do their work: stop one of them.');
}
