import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { embeddedDatabases } from '#lib/embedded-postgres';
import { createApiServer } from '#lib/embedded-kube';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import type {
  Ended,
  FlagsOf,
  MIGRATE_DATABASE,
  MIGRATE_OBJECTS,
  MIGRATE_RESOURCES,
  MIGRATE_TRACES,
} from '#lib/command-line';
import { EXIT } from '#lib/lifecycle';
import { dataPaths, findRunningPlatform, nothingRuns } from '#lib/data-folder';
import { StoredObjects } from '#lib/embedded-object-store';
import { openObjectStore } from '#lib/object-store';
import { NAMESPACES, RESOURCES, type Workspace } from '#lib/resources';
import { moveTraces, openTraceStore } from '#lib/trace-store';
import { type BackupSource, openSource } from '../backup/take/open-source.js';
import { PLATFORM_ROLES } from '../preparation/preparation-tasks.js';
import { bringUpSchema, machineDatabase } from './database/machine-database.js';
import { moveDatabase } from './database/move-database.js';
import { refuseUnfinishedRestore } from '../data-folder/data-folder.js';
import { copyObjects, readStoreFile } from './objects/copy-objects.js';
import {
  decideCopies,
  readWorkspace,
  type WorkspaceContent,
  writeCopies,
} from './resources/copy-resources.js';

/** Silent: reports of databases are thrown, and a terminal gets one sentence. */
const log = createLogger('migrate', 'silent');
const FIELD_MANAGER = 'agentplane-migrate';
const PROGRESS_MS = 2_000;

function usage(problem: string): number {
  process.stderr.write(`${problem}\n`);
  return EXIT.usage;
}

/** Tells the terminal every two seconds how far a copy is. */
function progress(): (render: () => string) => void {
  let told = systemClock.monotonicMs();
  return (render) => {
    const now = systemClock.monotonicMs();
    if (now - told < PROGRESS_MS) return;
    told = now;
    process.stderr.write(`${render()}\n`);
  };
}

/**
 * The URI of a database in the first line of a file; secret.
 * @throws Error which names the file, and nothing of its content
 */
function readUriFile(file: string): string {
  const uri = readFileSync(file, 'utf8').split(/\r?\n/)[0] ?? '';
  if (/^postgres(ql)?:\/\//.test(uri)) return uri;
  throw new Error(`the first line of ${file} is not a URI that begins with postgres://`);
}

/**
 * Copies from or to the data folder of a stopped platform, of which only Postgres runs meanwhile.
 * @throws Error for one that runs, and the errors of `openSource`
 */
async function withStopped(data: string, copy: (source: BackupSource) => Promise<void>): Promise<void> {
  const source = await openSource(data, { clock: systemClock, log });
  try {
    if (source.isRunning)
      throw new Error(
        `the platform of ${source.paths.root} is running; stop it with "agentplane down" first, as nothing may change during the copy`,
      );
    await copy(source);
  } finally {
    await source.close();
  }
}

/** A database of the machine's Postgres, by the role that owns its tables: what a superuser makes the role could not drop. */
function ownDatabase({ paths, superuserUri }: BackupSource, role: 'agentplane' | 'kube'): Promise<string> {
  const port = Number(new URL(superuserUri).port);
  const wanted = { database: role, role, connectionLimit: PLATFORM_ROLES[role], isPlatform: true };
  return embeddedDatabases({ dataDir: paths.root, port }).ensureDatabase(wanted);
}

/** Starts the API server of a stopped machine alone: nothing acts on what it holds. */
async function withMachine<T>(source: BackupSource, act: (client: KubeClient) => Promise<T>): Promise<T> {
  const { root } = source.paths;
  if (source.hasOwnCluster)
    throw new Error(`the resources of ${root} are in a cluster, which this copy does not read`);
  const databaseUri = await ownDatabase(source, 'kube');
  const pkiFolder = join(root, 'secrets');
  const server = createApiServer({ databaseUri, port: 0, clock: systemClock, log, pkiFolder });
  await server.start();
  try {
    const folder = mkdtempSync(join(root, 'migrate-'));
    try {
      const kubeconfigPath = join(folder, 'kubeconfig');
      writeFileSync(kubeconfigPath, await server.adminKubeconfig(), { mode: 0o600 });
      return await withClient(kubeconfigPath, act);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  } finally {
    await server.stop();
  }
}

async function withClient<T>(kubeconfigPath: string, act: (client: KubeClient) => Promise<T>): Promise<T> {
  const connection = await loadKubeConnection({ kubeconfigPath });
  const client = new KubeClient(connection, { clock: systemClock, fieldManager: FIELD_MANAGER });
  try {
    return await act(client);
  } finally {
    await client.close();
  }
}

/** Ends of a copy: from this machine, or back to it. */
function endsOf<T>(isBack: boolean, own: T, other: T): { readonly from: T; readonly to: T } {
  return isBack ? { from: other, to: own } : { from: own, to: other };
}

/** `agentplane migrate database`. */
export async function runMigrateDatabase(
  deployment: string,
  flags: FlagsOf<typeof MIGRATE_DATABASE.options>,
): Promise<Ended> {
  if (flags.databaseUriFile === undefined)
    return usage('the other database is missing: name a file with its URI by --database-uri-file FILE');
  const other = readUriFile(flags.databaseUriFile);
  return await withStopped(flags.data, async (source) => {
    const { port } = new URL(source.superuserUri);
    const wanted = { deployment, workspace: flags.workspace, port };
    const own = await withMachine(source, (client) => machineDatabase(client, wanted));
    const report = progress();
    let bytes = 0;
    const tables = await moveDatabase({
      ...endsOf(flags.back, own.uri, other),
      bringUpSchema,
      passed: (table, more) => {
        bytes += more;
        report(() => `${bytes} bytes copied, at ${table}`);
      },
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
  });
}

/** `agentplane migrate objects`. */
export async function runMigrateObjects(flags: FlagsOf<typeof MIGRATE_OBJECTS.options>): Promise<number> {
  const { storeFile, bucket, as } = flags;
  if (storeFile === undefined)
    return usage('the other store is missing: name a file with its address and keys by --store-file FILE');
  if (as !== undefined && bucket === undefined)
    return usage('--as names the copy of one bucket: name that by --bucket');
  const { root, objects: folder } = dataPaths(flags.data);
  refuseUnfinishedRestore(root);
  if (!existsSync(join(root, 'format.json')))
    throw new Error(`${root} is no data folder of a platform: ${nothingRuns(flags.data).trimEnd()}`);
  const objects = new StoredObjects(folder);
  const buckets = await objects.buckets();
  if (bucket !== undefined && !buckets.includes(bucket))
    throw new Error(`bucket ${bucket} does not exist there; choose one of: ${buckets.join(', ')}`);
  const store = openObjectStore(readStoreFile(storeFile));
  try {
    const bucketFor = (name: string): string | undefined =>
      bucket === undefined || name === bucket ? (as ?? name) : undefined;
    const report = progress();
    const counts = await copyObjects(objects, {
      store,
      bucketFor,
      progress: ({ copied, copiedBytes, present }) =>
        report(() => `${copied} objects copied (${copiedBytes} bytes), ${present} existed`),
    });
    process.stdout.write(
      `Copied ${counts.copied} objects (${counts.copiedBytes} bytes); ${counts.present} existed with the same bytes.\n`,
    );
    if (findRunningPlatform(flags.data))
      process.stdout.write(
        'The platform runs: stop it with "agentplane down" and repeat the command, which then copies what was stored since.\n',
      );
    return EXIT.ok;
  } finally {
    store.close();
  }
}

type ResourceFlags = FlagsOf<typeof MIGRATE_RESOURCES.options>;

/** Every API server makes it at its first start, so its uid tells one server from another. */
const OLDEST_NAMESPACE = 'kube-system';

/** @throws Error which names the workspaces that there are */
function chosenWorkspaces(all: readonly Workspace[], name: string | undefined): readonly Workspace[] {
  const chosen = all.filter(({ metadata }) => name === undefined || metadata.name === name);
  if (chosen.length > 0) return chosen;
  const names = all.map(({ metadata }) => metadata.name).join(', ');
  throw new Error(
    name === undefined
      ? 'there is no workspace to copy'
      : `workspace ${name} does not exist there; choose one of: ${names}`,
  );
}

/** A cluster cannot run a folder of the image store, and where an agent comes from never changes. */
function refuseOwnImages(contents: readonly WorkspaceContent[]): void {
  const names = contents
    .flatMap(({ deployments }) => deployments)
    .filter(({ spec }) => spec.source === 'internal_image')
    .map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`);
  if (names.length > 0)
    throw new Error(
      `a cluster cannot pull the images of ${names.join(', ')}, which only this machine has; push them to a registry and name it with --image-prefix`,
    );
}

async function copyWorkspaces(from: KubeClient, to: KubeClient, flags: ResourceFlags): Promise<void> {
  const { uid = '' } = (await from.get(NAMESPACES, { name: OLDEST_NAMESPACE })).metadata;
  const { items } = await from.list(RESOURCES.Workspace);
  const chosen = chosenWorkspaces(items, flags.workspace);
  const contents: WorkspaceContent[] = [];
  for (const workspace of chosen) contents.push(await readWorkspace(from, workspace));
  if (!flags.back && flags.imagePrefix === undefined) refuseOwnImages(contents);
  for (const content of contents) {
    const { workspace } = content;
    const name = flags.as ?? workspace.metadata.name;
    const copies = decideCopies(content, { name, from: uid, imagePrefix: flags.imagePrefix });
    await writeCopies(to, copies, (what) => process.stderr.write(`${what}\n`));
    process.stdout.write(
      `Copied workspace ${workspace.metadata.name}${name === workspace.metadata.name ? '' : ` as ${name}`}: ${copies.objects.length} objects.\n`,
    );
    for (const note of copies.notes) process.stdout.write(`- ${note}\n`);
  }
}

/** `agentplane migrate resources`. */
export async function runMigrateResources(flags: ResourceFlags): Promise<Ended> {
  const { kubeconfig, data, back } = flags;
  if (kubeconfig === undefined)
    return usage('the other installation is missing: name its kubeconfig by --kubeconfig FILE');
  if (!existsSync(kubeconfig)) return usage(`${kubeconfig} does not exist; name a kubeconfig`);
  if (flags.as !== undefined && flags.workspace === undefined)
    return usage('--as names the copy of one workspace: name that by --workspace');
  if (back && flags.imagePrefix !== undefined)
    return usage('--image-prefix is for images of this machine, which --back does not copy');
  return await withStopped(data, (source) =>
    withMachine(source, (machine) =>
      withClient(kubeconfig, (other) => {
        const { from, to } = endsOf(back, machine, other);
        return copyWorkspaces(from, to, flags);
      }),
    ),
  );
}

/** The last line: a copy cannot know which programs have the other database open. */
const AFTER =
  'The api of that database must be scaled to 0 during the copy. One that ran signs tokens of feedback with the key ' +
  'that the copy has replaced: restart it now.\n';
const AFTER_BACK =
  'The api of that database must be scaled to 0 during the copy. What one that ran has stored meanwhile was not copied.\n';

async function bringUpToDate(uri: string): Promise<void> {
  const store = openTraceStore({ program: 'migrate', uri, poolSize: 2, log, clock: systemClock });
  try {
    await store.migrate();
  } finally {
    await store.close();
  }
}

/** `agentplane migrate traces`. */
export async function runMigrateTraces(flags: FlagsOf<typeof MIGRATE_TRACES.options>): Promise<Ended> {
  if (flags.databaseUriFile === undefined)
    return usage('the other database is missing: name a file with its URI by --database-uri-file FILE');
  const other = readUriFile(flags.databaseUriFile);
  return await withStopped(flags.data, async (source) => {
    const ends = endsOf(flags.back, await ownDatabase(source, 'agentplane'), other);
    await bringUpToDate(ends.to);
    const { rows, tenants, attachments, segments } = await moveTraces({
      ...ends,
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
    if (segments > 0)
      process.stdout.write(
        `${segments} objects of sealed days are named in them; copy them too, by "agentplane migrate objects".\n`,
      );
    process.stdout.write(
      'Deployments with their databases, images, Secrets and files of exports were not copied.\n',
    );
    process.stdout.write(flags.back ? AFTER_BACK : AFTER);
  });
}
