import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { visibleText } from '#lib/command-line';
import type { Clock } from '#lib/time';

const LONGEST_NAME = 80;

/**
 * Writes lines into a new file of a folder. Logs may hold secrets, so only its owner reads it.
 * @param title of what was shown, from which its name is made
 * @returns the path of the file
 * @throws the error of the file system
 */
export async function saveText(
  title: string,
  lines: readonly string[],
  { folder, clock }: { readonly folder: string; readonly clock: Pick<Clock, 'now'> },
): Promise<string> {
  const name = title.replaceAll(/[^\w.]+/g, '-').slice(0, LONGEST_NAME);
  const time = clock.now().toISOString().replaceAll(/[-:.]/g, '');
  const path = join(folder, `agentplane-${name}-${time}.txt`);
  // a terminal that shows the file obeys what others wrote
  const text = lines.map((line) => `${visibleText(line)}\n`).join('');
  await writeFile(path, text, { mode: 0o600, flag: 'wx' });
  return path;
}
