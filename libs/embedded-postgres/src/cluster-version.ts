import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A cluster is readable for one major version of Postgres alone, and its folder is named after it. Another
 * version's must not be ignored silently: the platform would start with empty databases.
 * @param place the folder that holds PGDATA
 * @throws Error with the remedy
 */
export function requireMajor(place: string, major: string): void {
  const found = clustersIn(place);
  if (found.length === 0 || found.includes(major)) return;
  const [theirs = ''] = found;
  throw new Error(
    `the databases in ${place} were made by PostgreSQL ${theirs}, and this version of Agentplane brings PostgreSQL ` +
      `${major}, which cannot read them: start the version of Agentplane that was used before (format.json names it). ` +
      'Nothing was changed.',
  );
}

function clustersIn(place: string): readonly string[] {
  if (!existsSync(place)) return [];
  return readdirSync(place)
    .filter((name) => /^data-\d+$/.test(name))
    .map((name) => join(place, name, 'PG_VERSION'))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8').trim())
    .sort((one, other) => Number(other) - Number(one));
}
