import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { TerminalError } from '#lib/errors';
import { requireWheels } from './require-wheels.js';

/** A requirements file with all that it includes, as one text. */
export interface Requirements {
  /** One requirement or option each. */
  readonly lines: readonly string[];
  readonly constraints: readonly string[];
  /** Folders of the project that it names; their code is imported, not installed. */
  readonly folders: readonly string[];
}

const INCLUDE = /^(?:-r|--requirement|-c|--constraint)(?:\s*=?\s*)(\S+)$/;
/** Requirement for a folder, as `-e .`, `./lib` or `--editable ./lib[extra]`. */
const LOCAL_FOLDER = /^(?:(?:-e|--editable)[\s=]+)?(\.{1,2}(?:\/[^\s[;]*)?)(?:\[[^\]]*\])?$/;
const MAX_INCLUDES = 100;

function refused(message: string): TerminalError {
  return new TerminalError('NotAnAgent', message);
}

/** Lines of pip: one may continue after a backslash, and text after ` #` is a comment. */
function linesOf(text: string): readonly string[] {
  return text
    .replaceAll(/\\\r?\n/g, ' ')
    .split(/\r?\n/)
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '');
}

/**
 * Reads a requirements file and the files that it includes.
 * @param builds true when packages may be built from sources
 * @throws TerminalError for packages that cannot be installed
 */
export function readRequirements(image: string, file: string, builds: boolean): Requirements {
  const [lines, constraints, folders]: [string[], string[], string[]] = [[], [], []];
  let includes = 0;
  const read = (path: string, isConstraint: boolean): void => {
    if (path.startsWith('..') || path.startsWith('/'))
      throw refused(
        `${file}: it includes ${path}, which is outside the agent's folder; move it into the folder`,
      );
    if (!existsSync(join(image, path))) throw refused(`${file}: it includes ${path}, which does not exist`);
    if (++includes > MAX_INCLUDES) throw refused(`${file}: it includes more than ${MAX_INCLUDES} files`);
    for (const line of linesOf(readFileSync(join(image, path), 'utf8'))) {
      const included = INCLUDE.exec(line)?.[1];
      const folder = LOCAL_FOLDER.exec(line)?.[1];
      if (included !== undefined) {
        const next = normalize(join(dirname(path), included));
        read(next, isConstraint || /^(-c|--constraint)/.test(line));
      } else if (folder !== undefined && !folder.endsWith('.whl')) {
        folders.push(normalize(join(dirname(path), folder)));
      } else {
        requireWheels(image, path, line, builds);
        (isConstraint ? constraints : lines).push(line);
      }
    }
  };
  read(normalize(file), false);
  return { lines, constraints, folders };
}
