import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';

/** The least that an installation is given. */
export const DATABASE = { database: { existingSecret: 'postgres' } };
const FOLDER = join(import.meta.dirname, 'values');
/** Those that `npm run check:chart` renders with, too. */
export const VALUES: Readonly<Record<string, object>> = Object.fromEntries(
  readdirSync(FOLDER).map((name) => [
    basename(name, '.yaml').replaceAll('-', ' '),
    parse(readFileSync(join(FOLDER, name), 'utf8')) as object,
  ]),
);
