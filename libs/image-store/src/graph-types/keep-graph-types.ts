import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inheritedEnvironment, NODE_MARKS } from '#lib/config';
import { INSTALLATION } from '#lib/data-folder';

const PROGRAM = join(INSTALLATION, 'dist', 'libs', 'image-store', 'src', 'graph-types', 'main.js');

/** Types that take longer are given up: an agent runs without their schemas. */
const LONGEST_MS = 30_000;

const MAX_NOTES = 5;
const MAX_NOTE_LENGTH = 300;

/**
 * Keeps JSON Schemas of an agent's graphs in its folder, as their types describe them; none of its code is run, and a
 * failure is a note. Graphs in Python have none: they describe themselves.
 * @param configuration path of its graph configuration
 * @param roots folders beside its own that its packages are in
 * @param isFinal whether its files change no more, and are kept as JavaScript as well
 * @returns sentences about graphs without schemas
 */
export async function keepGraphTypes(
  configuration: string,
  roots: readonly string[],
  { isFinal }: { readonly isFinal: boolean },
): Promise<readonly string[]> {
  const readable = roots.filter((root) => existsSync(root));
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      [PROGRAM, ...(isFinal ? ['--sources'] : []), configuration, ...readable],
      { env: inheritedEnvironment([...NODE_MARKS, 'PATH']), timeout: LONGEST_MS, killSignal: 'SIGKILL' },
      (error, output, errors) => {
        const lines = output.split('\n').filter((line) => line !== '');
        if (error) lines.push(`schemas of graphs by their types: ${causeOf(error, errors)}`);
        resolve(lines.slice(0, MAX_NOTES).map((line) => line.slice(0, MAX_NOTE_LENGTH)));
      },
    );
  });
}

function causeOf({ killed }: { readonly killed?: boolean | undefined }, errors: string): string {
  if (killed === true) return `the compiler did not end within ${LONGEST_MS / 1000} s`;
  if (errors.includes('ERR_MODULE_NOT_FOUND')) return 'the TypeScript compiler is not installed here';
  const line = errors.split('\n').find((one) => /^\w*Error\b/.test(one));
  return `the compiler failed${line === undefined ? '' : `: ${line}`}`;
}
