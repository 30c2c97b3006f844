import { readFileSync } from 'node:fs';
import type { Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { type BackupSource, openSource } from '../backup/take/open-source.js';

/**
 * The URI of a database in the first line of a file; secret.
 * @throws Error which names the file, and nothing of its content
 */
export function readUriFile(file: string): string {
  const uri = readFileSync(file, 'utf8').split(/\r?\n/)[0] ?? '';
  if (/^postgres(ql)?:\/\//.test(uri)) return uri;
  throw new Error(`the first line of ${file} is not a URI that begins with postgres://`);
}

/**
 * Opens the data folder of a stopped platform.
 * @throws Error for one that runs, and the errors of `openSource`
 */
export async function openStoppedSource(data: string, log: Logger): Promise<BackupSource> {
  const source = await openSource(data, { clock: systemClock, log });
  if (!source.isRunning) return source;
  await source.close();
  throw new Error(
    `the platform of ${source.paths.root} is running; stop it with "agentplane down" first, as nothing may write meanwhile`,
  );
}
