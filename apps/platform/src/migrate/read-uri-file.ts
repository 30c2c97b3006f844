import { readFileSync } from 'node:fs';

/**
 * The URI of a database in the first line of a file; secret.
 * @throws Error which names the file, and nothing of its content
 */
export function readUriFile(file: string): string {
  const uri = readFileSync(file, 'utf8').split(/\r?\n/)[0] ?? '';
  if (/^postgres(ql)?:\/\//.test(uri)) return uri;
  throw new Error(`the first line of ${file} is not a URI that begins with postgres://`);
}
