import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installedMajor } from '#lib/embedded-postgres';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { newHead } from '../format/backup-manifest.js';
import { restoreBackup } from './restore-backup.js';

describe('restoreBackup', () => {
  const folder = temporaryFolder();
  const backupOf = (part: string) => ({
    folder: join(folder, 'backup'),
    manifest: {
      ...newHead({ postgres: installedMajor(), installation: '/x', source: '/y', startedAt: '' }),
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
      ...{ dataFolder, isForced: true, clock: systemClock, log: createLogger('test', 'silent') },
      watch: { stage() {}, bytes() {}, note() {}, end() {} },
    }).catch((error: unknown) => error);
    const { message } = failure as Error;
    const [, aside = ''] = /The former content of .* is in (.*)$/.exec(message) ?? [];
    expect(message).toContain('the backup has a part strange');
    expect(readFileSync(join(aside, 'former'), 'utf8')).toBe('kept');
  });
});
