import { EXIT } from '#lib/lifecycle';
import { type ObjectStore, ObjectStoreError, openObjectStore } from '#lib/object-store';
import { RestClient } from '#lib/rest-client';
import { CommandError } from '../command-error.js';
import { print } from '../output/print.js';
import { resolveTarget, type Target, type TargetFlags } from '../context/target.js';
import {
  type BucketProgress,
  compareBucket,
  type VerifiedExport,
  type VerifiedPlace,
  type VerifiedRun,
} from './export-bucket.js';
import { exportIdOf } from './export-id.js';
import { scheduleAdvice } from './schedule-advice.js';

export interface ExportVerifyFlags extends TargetFlags {
  readonly quick: boolean;
}

interface ExportAnswer extends VerifiedExport {
  readonly status: string;
  /** Null for one that is no schedule. */
  readonly interval_hours: number | null;
  readonly bulk_export_destination_id: string | null;
}

interface DestinationAnswer {
  readonly config: {
    readonly bucket_name: string;
    readonly prefix: string;
    readonly region: string | null;
    readonly endpoint_url: string | null;
    readonly include_bucket_in_prefix: boolean;
  };
}

const PATH = '/api/v1/bulk-exports';
/** States that no waiting changes. */
const ENDED: readonly string[] = ['CANCELLED', 'FAILED', 'TIMEDOUT'];

/** `agentplane export verify NAME`. */
export async function verifyExport(given: string, flags: ExportVerifyFlags): Promise<number> {
  const target = resolveTarget(flags);
  const id = await exportIdOf(target, given);
  const rest = new RestClient(target.rest);
  const found = await rest.request<ExportAnswer>('GET', `${PATH}/${id}`);
  if (found.interval_hours !== null) throw new CommandError('failed', scheduleAdvice(given));
  if (found.status !== 'COMPLETED')
    throw new CommandError(
      'failed',
      `verifying export ${given} failed: it is ${found.status}, ${
        ENDED.includes(found.status)
          ? 'and only the files of one that is COMPLETED are compared'
          : 'wait until it is COMPLETED'
      }`,
    );
  const { bulk_export_destination_id: destinationId } = found;
  if (destinationId === null)
    throw new CommandError('failed', `verifying export ${given} failed: its destination was deleted`);
  const { config } = await rest.request<DestinationAnswer>('GET', `${PATH}/destinations/${destinationId}`);
  const runs = await rest.request<readonly VerifiedRun[]>('GET', `${PATH}/${id}/runs`);
  const store = openStore(target, config);
  try {
    const place = { bucket: config.bucket_name, prefix: config.prefix };
    const differences = [
      ...(await inBucket(found, runs, place, store, !flags.quick)),
      ...(await inStore(found, runs, rest)),
    ];
    if (differences.length === 0) {
      print(
        `${given} verified: ${found.rows_exported} rows of ${runs.length} ${runs.length === 1 ? 'day' : 'days'}\n`,
      );
      return EXIT.ok;
    }
    print(differences.map((difference) => `${difference}\n`).join(''));
    throw new CommandError(
      'failed',
      `export ${given} is not as it should be: ${differences.length} difference${differences.length === 1 ? '' : 's'}`,
    );
  } finally {
    store.close();
  }
}

/** The operator's key for the store of this machine, what the environment has for any other. */
function openStore({ local }: Target, config: DestinationAnswer['config']): ObjectStore {
  const own = local?.credentials.objectStore;
  const endpoint = config.endpoint_url ?? undefined;
  return openObjectStore({
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(config.region === null ? {} : { region: config.region }),
    includeBucketInPrefix: config.include_bucket_in_prefix,
    // whoever asks has the machine on which this runs
    allowPrivateEndpoints: true,
    ...(own?.endpoint === endpoint
      ? { accessKeyId: own?.accessKeyId, secretAccessKey: own?.secretAccessKey }
      : { allowEnvironmentCredentials: true }),
  });
}

async function inBucket(
  found: VerifiedExport,
  runs: readonly VerifiedRun[],
  place: VerifiedPlace,
  store: ObjectStore,
  readsFiles: boolean,
): Promise<readonly string[]> {
  const progress = (soFar: BucketProgress): void => {
    process.stderr.write(
      `${soFar.runs} of ${runs.length} days, ${soFar.files} files, ${soFar.bytes} bytes compared\n`,
    );
  };
  try {
    return await compareBucket(found, runs, place, store, { readsFiles, progress });
  } catch (error) {
    if (error instanceof ObjectStoreError && error.code === 'AccessDenied')
      throw new CommandError(
        'refused',
        `${error.message}: the key may not read or list, as keys that only write exports may not; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to one with s3:GetObject and s3:ListBucket`,
        { cause: error },
      );
    throw error;
  }
}

/** Rows that the trace store has now by the bounds of each day. Later than the export, runs may have come or gone. */
async function inStore(
  found: VerifiedExport,
  runs: readonly VerifiedRun[],
  rest: RestClient,
): Promise<readonly string[]> {
  const differences: string[] = [];
  for (const { start_time: start, end_time: end, rows_exported: rows } of runs) {
    const bounds = `gte(start_time, "${start}"), lt(start_time, "${end}")`;
    const filter = `and(${found.filter === null ? '' : `${found.filter}, `}${bounds})`;
    const { run_count: stored } = await rest.request<{ run_count: number }>('POST', '/runs/stats', {
      session: [found.session_id],
      filter,
    });
    if (stored !== rows)
      differences.push(
        `from ${start} to ${end}: ${rows} rows exported, the trace store has ${stored} now; runs that came or were removed later are such a difference`,
      );
  }
  return differences;
}
