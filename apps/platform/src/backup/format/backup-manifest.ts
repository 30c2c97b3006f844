import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PLATFORM_VERSION } from '#lib/config';
import { readJson, writeJson } from '#lib/data-folder';
import { isNewer } from '../../data-folder/data-folder.js';
import { BackupKey, type KeyRecord, type PartRecord } from '../part/part-file.js';

/** Version of the layout that this program writes. */
const FORMAT = 1;

/** Origin of a backup, known from its start. */
export interface BackupHead {
  readonly format: number;
  /** Version of Agentplane that wrote it. */
  readonly platform: string;
  /** Major version of Postgres whose files it holds. */
  readonly postgres: string;
  /** `linux-x64` */
  readonly machine: string;
  /** Folder in which Agentplane was installed: links of images lead there. */
  readonly installation: string;
  /** The data folder. */
  readonly source: string;
  /** ISO 8601; objects with a younger change are in `changes`. */
  readonly startedAt: string;
  readonly key?: KeyRecord;
}

/** `progress.json`: a backup that is being taken, or was interrupted. */
export interface BackupProgress extends BackupHead {
  readonly parts: readonly PartRecord[];
}

/** `backup.json`: a whole backup. */
export interface BackupManifest extends BackupProgress {
  /** ISO 8601. */
  readonly finishedAt: string;
}

interface Proved {
  readonly backup: BackupManifest;
  /** Over the JSON of the backup: SHA-256, with the key where there is one. Hex. */
  readonly proof: string;
}

const MANIFEST = 'backup.json';
const PROGRESS = 'progress.json';

export function newHead(head: Omit<BackupHead, 'format' | 'platform' | 'machine'>): BackupHead {
  return { format: FORMAT, platform: PLATFORM_VERSION, machine: thisMachine(), ...head };
}

export function thisMachine(): string {
  return `${process.platform}-${process.arch}`;
}

export function hasManifest(folder: string): boolean {
  return existsSync(join(folder, MANIFEST));
}

export function readProgress(folder: string): BackupProgress | undefined {
  return readJson<BackupProgress>(join(folder, PROGRESS));
}

export function writeProgress(folder: string, progress: BackupProgress): void {
  writeJson(join(folder, PROGRESS), progress);
}

export function progressPath(folder: string): string {
  return join(folder, PROGRESS);
}

/** The last step: from now on the folder is a backup. */
export function writeManifest(folder: string, backup: BackupManifest, key: BackupKey | undefined): void {
  const proved: Proved = { backup, proof: proofOf(backup, key) };
  writeJson(join(folder, MANIFEST), proved);
}

/** A backup as `backup.json` describes it, with the key that opens its parts. */
export interface OpenBackup {
  readonly folder: string;
  readonly manifest: BackupManifest;
  readonly key: BackupKey | undefined;
}

/**
 * Reads `backup.json` and checks it.
 * @throws Error when it does not exist, it was changed, it is of a newer version, or its passphrase is
 * missing or wrong
 */
export function openBackup(folder: string, passphrase: string | undefined): OpenBackup {
  if (!existsSync(folder)) throw new Error(`the backup ${folder} does not exist`);
  const proved = readJson<Partial<Proved>>(join(folder, MANIFEST));
  if (!proved) {
    const why = readProgress(folder)
      ? 'it was not taken to its end; "agentplane backup --resume" goes on with it'
      : `it has no ${MANIFEST}`;
    throw new Error(`${folder} is no complete backup: ${why}`);
  }
  const { backup, proof } = proved;
  if (!backup || typeof backup.format !== 'number')
    throw new Error(`${join(folder, MANIFEST)} describes no backup: restore the file from another copy`);
  if (backup.format > FORMAT)
    throw new Error(
      `the backup ${folder} has format ${backup.format}, and this program supports ${FORMAT}; use Agentplane ${backup.platform} or newer`,
    );
  if (isNewer(backup.platform, PLATFORM_VERSION))
    throw new Error(
      `the backup ${folder} was taken by Agentplane ${backup.platform}, and this is ${PLATFORM_VERSION}; use ${backup.platform} or newer`,
    );
  const key = keyOf(folder, backup.key, passphrase);
  if (proof !== proofOf(backup, key))
    throw new Error(
      `${join(folder, MANIFEST)} was changed after it was written: restore the file from another copy`,
    );
  return { folder, manifest: backup, key };
}

/** @throws Error when a passphrase is missing, wrong, or given for nothing */
export function keyOf(
  folder: string,
  record: KeyRecord | undefined,
  passphrase: string | undefined,
): BackupKey | undefined {
  if (record && passphrase === undefined)
    throw new Error(
      `the backup ${folder} is encrypted; name the file with its passphrase with --passphrase-file`,
    );
  if (!record && passphrase !== undefined)
    throw new Error(`the backup ${folder} is not encrypted; leave --passphrase-file out`);
  return record && passphrase !== undefined ? BackupKey.open(record, passphrase) : undefined;
}

function proofOf(backup: BackupManifest, key: BackupKey | undefined): string {
  const text = JSON.stringify(backup);
  return key ? key.prove(text) : createHash('sha256').update(text).digest('hex');
}
