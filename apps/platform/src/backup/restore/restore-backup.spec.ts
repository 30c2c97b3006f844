import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installedMajor } from '#lib/embedded-postgres';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { noBody, type TarEntry, type TarItem } from '#lib/tar';
import { newHead, openBackup, writeManifest } from '../format/backup-manifest.js';
import { writePart } from '../part/part-file.js';
import { verifyBackup } from '../backup-commands.js';
import { restoreBackup } from './restore-backup.js';

const quiet = { stage() {}, bytes() {}, note() {}, end() {} };
const head = () => newHead({ postgres: installedMajor(), installation: '/x', source: '/y', startedAt: '' });

/** Made without a passphrase: its sums are right, and any program can write them. */
interface Forged {
  readonly part: string;
  readonly entry: Pick<TarEntry, 'kind' | 'path'> & Partial<TarEntry>;
  readonly text?: string;
}

async function* itemOf({ entry, text = '' }: Forged): AsyncGenerator<TarItem> {
  const bytes = Buffer.from(text);
  const base = { mode: 0o755, modifiedMs: 0, bytes: bytes.length };
  yield { entry: { ...base, ...entry }, body: text === '' ? noBody() : oneOf(bytes) };
}

async function* oneOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

async function writeForged(folder: string, all: readonly Forged[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const parts = [];
  for (const forged of all)
    parts.push(await writePart({ folder, name: forged.part, key: undefined }, itemOf(forged)));
  writeManifest(folder, { ...head(), finishedAt: '', parts }, undefined);
}

describe('restoreBackup', () => {
  const folder = temporaryFolder();
  const backupOf = (part: string) => ({
    folder: join(folder, 'backup'),
    manifest: {
      ...head(),
      finishedAt: '',
      parts: [{ name: part, bytes: 0, contentBytes: 0 }] as never,
    },
    key: undefined,
  });

  it('names the folder that it moved aside when it fails afterwards', async () => {
    const dataFolder = join(folder, 'data');
    mkdirSync(dataFolder);
    writeFileSync(join(dataFolder, 'former'), 'kept');
    const failure: unknown = await restoreBackup({
      backup: backupOf('strange'),
      dataFolder,
      isForced: true,
      clock: systemClock,
      log: createLogger('test', 'silent'),
      watch: quiet,
    }).catch((error: unknown) => error);
    const { message } = failure as Error;
    const [, aside = ''] = /The former content of .* is in (.*)$/.exec(message) ?? [];
    expect(message).toContain('the backup has a part strange');
    expect(readFileSync(join(aside, 'former'), 'utf8')).toBe('kept');
  });

  const link = (path: string, target: string): Forged['entry'] => ({ kind: 'link', path, target, bytes: 0 });
  const file = (path: string): Forged['entry'] => ({ kind: 'file', path });
  const object = {
    part: 'changes-0001',
    entry: { ...file('bkt/cron.d/x'), note: '{"bucket":"bkt","key":"cron.d/x","lastModified":"2026-01-01"}' },
    text: '* * * * * root id',
  };

  it.each<[string, (elsewhere: string) => readonly Forged[]]>([
    ['a bucket elsewhere', (to) => [{ part: 'images', entry: link('objects/bkt', to) }, object]],
    ['the own folder of the store', (to) => [{ part: 'images', entry: link('objects/.store', to) }, object]],
    ['the databases elsewhere', (to) => [{ part: 'images', entry: link('postgres', to) }]],
    ['all images elsewhere', (to) => [{ part: 'images', entry: link('images', to) }]],
    ['closed images elsewhere', (to) => [{ part: 'images', entry: link('images/closed', to) }]],
    ['a content elsewhere', (to) => [{ part: 'images', entry: link('images/closed/sha256-x', to) }]],
    ['packages elsewhere', (to) => [{ part: 'images', entry: link('images/dependencies/key', to) }]],
    ['copies of a user', () => [{ part: 'images', entry: file('images/user-1000/x') }]],
    ['a draft that is written later', (to) => [{ part: 'files', entry: link('node/users.json.new', to) }]],
    ['secrets elsewhere', (to) => [{ part: 'files', entry: link('secrets', to) }]],
    [
      'a note that names a folder',
      (to) => [{ part: 'files', entry: file('postgres.location'), text: `${to}\n` }],
    ],
    ['a folder of pods', () => [{ part: 'files', entry: file('node/pods/x/pod.json') }]],
    ['a log that is no audit log', () => [{ part: 'audit', entry: file('logs/postgres.log') }]],
    ['a tablespace', (to) => [{ part: 'databases', entry: link('pg_tblspc/1', to) }]],
    ['a server to follow', () => [{ part: 'databases', entry: file('./standby.signal') }]],
  ])('takes no link or file from a forged backup that is %s', async (what, forged) => {
    const [from, dataFolder, elsewhere] = ['forged', 'data', 'elsewhere'].map((name) =>
      join(folder, what.replaceAll(' ', '-'), name),
    ) as [string, string, string];
    mkdirSync(elsewhere, { recursive: true });
    await writeForged(from, forged(elsewhere));
    const backup = openBackup(from, undefined);
    const request = { backup, dataFolder, isForced: false, clock: systemClock, watch: quiet };
    const refused = restoreBackup({ ...request, log: createLogger('test', 'silent') });
    await expect(refused).rejects.toThrow(/the part \w+ of a backup holds no (link|file) at/);
    await expect(verifyBackup(backup, quiet)).rejects.toThrow('of a backup holds no');
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('unpacks no more than what the record of a part names', async () => {
    const from = join(folder, 'full');
    const dataFolder = join(folder, 'full-data');
    await writeForged(from, [{ part: 'files', entry: file('secrets/large'), text: 'x'.repeat(1_000) }]);
    const { manifest } = openBackup(from, undefined);
    const parts = manifest.parts.map((part) => ({ ...part, contentBytes: 999 }));
    writeManifest(from, { ...manifest, parts }, undefined);
    const request = { dataFolder, isForced: false, clock: systemClock, watch: quiet };
    const backup = openBackup(from, undefined);
    await expect(restoreBackup({ ...request, backup, log: createLogger('test', 'silent') })).rejects.toThrow(
      'found at least 1 entries with 1000 bytes, expected 1 with 999',
    );
    expect(existsSync(join(dataFolder, 'secrets', 'large'))).toBe(false);
  });

  it('reads no file outside of the folder of the backup', async () => {
    const from = join(folder, 'far');
    await writeForged(from, [{ part: 'files', entry: file('format.json') }]);
    const { manifest } = openBackup(from, undefined);
    const parts = manifest.parts.map((part) => ({ ...part, file: `../far/${part.file}` }));
    writeManifest(from, { ...manifest, parts }, undefined);
    await expect(verifyBackup(openBackup(from, undefined), quiet)).rejects.toThrow(
      '"../far/files.tar.zst" is no file of the backup',
    );
  });
});
