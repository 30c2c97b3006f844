import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type DataPaths,
  dataPaths,
  findRunningPlatform,
  nothingRuns,
  readJson,
  takeLock,
} from '#lib/data-folder';
import { embeddedDatabases, startEmbeddedPostgres } from '#lib/embedded-postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { Ports } from '../../data-folder/ports.js';
import { refuseUnfinishedRestore } from '../../data-folder/data-folder.js';

/** A platform to copy. */
export interface BackupSource {
  readonly paths: DataPaths;
  /** Secret. */
  readonly superuserUri: string;
  /** True when the platform works; otherwise only Postgres was started for this. */
  readonly isRunning: boolean;
  /** Its Kubernetes objects are not in its databases, but in a cluster of one's own. */
  readonly hasOwnCluster: boolean;
  close(): Promise<void>;
}

/**
 * The platform over a data folder, running or not.
 * @throws Error when it does not exist, it is just starting, or a restore into the folder was not finished
 */
export async function openSource(
  data: string,
  { clock, log }: { clock: Clock; log: Logger },
): Promise<BackupSource> {
  const paths = dataPaths(data);
  if (!existsSync(join(paths.root, 'format.json'))) {
    refuseUnfinishedRestore(paths.root);
    throw new Error(`${paths.root} is no data folder of a platform: ${nothingRuns(data).trimEnd()}`);
  }
  refuseUnfinishedRestore(paths.root);
  const ports = readJson<Partial<Ports>>(paths.ports) ?? {};
  const common = { paths, hasOwnCluster: isOfOwnCluster(paths, ports) };
  if (findRunningPlatform(data)) {
    if (ports.postgres === undefined)
      throw new Error(`${paths.ports} names no port of Postgres; restart the platform`);
    const { superuserUri } = embeddedDatabases({ dataDir: paths.root, port: ports.postgres });
    return { ...common, superuserUri, isRunning: true, close: () => Promise.resolve() };
  }
  const lock = takeLock(
    join(paths.root, 'lock'),
    ({ pid }) =>
      `${paths.root} is in use by process ${pid}, which is starting or copying; try again when it is done`,
  );
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: paths.root, port: 0, isTied: true, log, clock });
    return {
      ...common,
      superuserUri: postgres.superuserUri,
      isRunning: false,
      close: async () => {
        await postgres.stop();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function isOfOwnCluster({ kubeconfig }: DataPaths, { kube }: Partial<Ports>): boolean {
  if (!existsSync(kubeconfig) || kube === undefined) return false;
  return !readFileSync(kubeconfig, 'utf8').includes(`127.0.0.1:${kube}`);
}
