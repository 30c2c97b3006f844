import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The text of a file of secrets; made (0600) with what `make` gives when it is not there yet. */
export async function ensureSecretFile(path: string, make: () => Promise<string>): Promise<string> {
  const found = await readIfThere(path);
  if (found !== undefined) return found;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = await writeDraft(path, await make());
  try {
    // a link never overwrites: of two that begin at once, one key wins and both use it
    await link(draft, path);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  } finally {
    await unlink(draft);
  }
  return readFile(path, 'utf8');
}

/** Puts what `make` gives in the place of a file of secrets, whole at every moment; answers it. */
export async function replaceSecretFile(path: string, make: () => Promise<string>): Promise<string> {
  const text = await make();
  await rename(await writeDraft(path, text), path);
  return text;
}

async function writeDraft(path: string, text: string): Promise<string> {
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
  return draft;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  // not `instanceof Error`: what Node's own modules throw belongs to another realm inside a test runner's sandbox
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
