import { type FlagsOf, type MIGRATE_DATABASE } from '#lib/command-line';
import { EXIT } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import type { BackupSource } from '../backup/take/open-source.js';
import { bringUpSchema, type MachineDatabase, machineDatabase } from './database/machine-database.js';
import { moveDatabase } from './database/move-database.js';
import { startMachineKubernetes } from './machine-kubernetes.js';
import { openStoppedSource, readUriFile } from './open-stopped-source.js';

type Flags = FlagsOf<typeof MIGRATE_DATABASE.options>;

/** Silent: reports of databases are thrown, and a terminal gets one sentence. */
const log = createLogger('migrate', 'silent');
const FIELD_MANAGER = 'agentplane-migrate';
const PROGRESS_MS = 2_000;

/** Tells the terminal every two seconds how far the copy is. */
function progress(): (table: string, bytes: number) => void {
  let told: number | undefined;
  let total = 0;
  return (table, bytes) => {
    total += bytes;
    const now = systemClock.monotonicMs();
    told ??= now;
    if (now - told < PROGRESS_MS) return;
    told = now;
    process.stderr.write(`${total} bytes copied, at ${table}\n`);
  };
}

async function findOwn(
  source: BackupSource,
  deployment: string,
  { workspace }: Flags,
): Promise<MachineDatabase> {
  const machine = await startMachineKubernetes(source, {
    clock: systemClock,
    log,
    fieldManager: FIELD_MANAGER,
  });
  try {
    const { port } = new URL(source.superuserUri);
    return await machineDatabase(machine.client, { deployment, workspace, port });
  } finally {
    await machine.stop();
  }
}

/** `agentplane migrate database`. */
export async function runMigrateDatabase(deployment: string, flags: Flags): Promise<number> {
  if (flags.databaseUriFile === undefined) {
    process.stderr.write(
      'the other database is missing: name a file with its URI by --database-uri-file FILE\n',
    );
    return EXIT.usage;
  }
  const other = readUriFile(flags.databaseUriFile);
  const source = await openStoppedSource(flags.data, log);
  try {
    if (source.hasOwnCluster)
      throw new Error(
        `the resources of ${source.paths.root} are in a cluster, which alone knows which database is whose`,
      );
    const own = await findOwn(source, deployment, flags);
    const [from, to] = flags.back ? [other, own.uri] : [own.uri, other];
    const tables = await moveDatabase({
      from,
      to,
      bringUpSchema,
      passed: progress(),
      clock: systemClock,
      log,
    });
    for (const { name, rows } of tables) process.stdout.write(`${name}: ${rows} rows on both sides\n`);
    const total = tables.reduce((sum, { rows }) => sum + rows, 0);
    process.stdout.write(`Copied ${total} rows of deployment ${deployment}; all of them are committed.\n`);
    if (flags.back)
      process.stdout.write(
        'Keep the deployment of the other installation suspended: its crons and waiting runs are here now.\n',
      );
    else if (!own.isSuspended)
      process.stdout.write(
        `Deployment ${deployment} of this machine is not suspended: suspend or delete it when the platform starts again, as its crons and waiting runs would run twice.\n`,
      );
    return EXIT.ok;
  } finally {
    await source.close();
  }
}
