import { type FlagsOf, type MIGRATE_TRACES } from '#lib/command-line';
import { dataPaths } from '#lib/data-folder';
import { embeddedDatabases } from '#lib/embedded-postgres';
import { EXIT } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { moveTraces, openTraceStore } from '#lib/trace-store';
import { PLATFORM_ROLES } from '../preparation/preparation-tasks.js';
import { openStoppedSource, readUriFile } from './open-stopped-source.js';

/** Silent: reports of databases are thrown, and a terminal gets one sentence. */
const log = createLogger('migrate', 'silent');

/** The last line: a copy cannot know which programs have the other database open. */
const AFTER =
  'The api of that database must be scaled to 0 during the copy. One that ran signs tokens of feedback with the key ' +
  'that the copy has replaced: restart it now.\n';
const AFTER_BACK =
  'The api of that database must be scaled to 0 during the copy. What one that ran has stored meanwhile was not copied.\n';

/** The trace store of a data folder, by the role that owns its tables: a superuser's partitions could not be dropped. */
function ownUri(dataDir: string, superuserUri: string): Promise<string> {
  const role = 'agentplane';
  return embeddedDatabases({ dataDir, port: Number(new URL(superuserUri).port) }).ensureDatabase({
    database: role,
    role,
    connectionLimit: PLATFORM_ROLES[role],
    isPlatform: true,
  });
}

async function bringUpToDate(uri: string): Promise<void> {
  const store = openTraceStore({ program: 'migrate', uri, poolSize: 2, log, clock: systemClock });
  try {
    await store.migrate();
  } finally {
    await store.close();
  }
}

/** `agentplane migrate traces`. */
export async function runMigrateTraces(flags: FlagsOf<typeof MIGRATE_TRACES.options>): Promise<number> {
  if (flags.databaseUriFile === undefined) {
    process.stderr.write(
      'the other database is missing: name a file with its URI by --database-uri-file FILE\n',
    );
    return EXIT.usage;
  }
  const other = readUriFile(flags.databaseUriFile);
  const source = await openStoppedSource(flags.data, log);
  try {
    const own = await ownUri(dataPaths(flags.data).root, source.superuserUri);
    const [from, to] = flags.back ? [other, own] : [own, other];
    await bringUpToDate(to);
    const { rows, tenants, attachments } = await moveTraces({
      from,
      to,
      log,
      moved: (table, count) => {
        if (count > 0) process.stderr.write(`${table}: ${count} rows\n`);
      },
    });
    process.stdout.write(`Copied ${rows} rows of ${tenants.length} tenants; all of them are committed.\n`);
    for (const tenant of tenants) process.stdout.write(`tenant ${tenant}\n`);
    if (attachments > 0)
      process.stdout.write(
        `${attachments} objects of attachments are named in them; copy them too, by "agentplane migrate objects".\n`,
      );
    process.stdout.write(
      'Deployments with their databases, images, Secrets and files of exports were not copied.\n',
    );
    process.stdout.write(flags.back ? AFTER_BACK : AFTER);
    return EXIT.ok;
  } finally {
    await source.close();
  }
}
