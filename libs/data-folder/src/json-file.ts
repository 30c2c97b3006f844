import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/** The parsed file, or undefined when it is not there. */
export function readJson<T>(path: string): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as T;
  } catch {
    // the parser's message would show a piece of the file, and some hold secrets
    throw new Error(`${path} is not JSON: restore or remove it`);
  }
}

/** Writes the whole file or nothing: a reader never sees half of it. */
export function writeJson(path: string, value: unknown, mode = 0o600): void {
  const draft = `${path}.${process.pid}.draft`;
  writeFileSync(draft, `${JSON.stringify(value, undefined, 2)}\n`, { mode });
  renameSync(draft, path);
}
