import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { inheritedEnvironment } from '#lib/config';

const USUAL_FOLDERS = ['/usr/local/bin', '/usr/bin'];

/** Commands of a name, in the order of `PATH`. */
export function findCommands(name: string): readonly string[] {
  const { PATH = '' } = inheritedEnvironment(['PATH']);
  const folders = [...new Set([...PATH.split(delimiter), ...USUAL_FOLDERS])];
  return folders
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, name))
    .filter(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
