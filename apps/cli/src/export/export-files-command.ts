import { RestClient } from '#lib/rest-client';
import { type ObjectStore, ObjectStoreError, openObjectStore } from '#lib/object-store';
import { CommandError } from '../command-error.js';
import { resolveTarget, type Target, type TargetFlags } from '../context/target.js';
import { type OutputFormat, print, renderItems, type Shape } from '../output/print-items.js';
import { type DestinationConfig, destinationOf, EXPORTS_PATH, readExport } from './find-export.js';
import {
  type BucketProgress,
  compareBucket,
  type Findings,
  type VerifiedExport,
  type VerifiedPlace,
  type VerifiedRun,
} from './export-bucket.js';
import { compareStore } from './export-store.js';

/** A run of an export as the REST interface answers it, as far as its files go. */
interface Run {
  readonly id: string;
  readonly status: string;
  readonly start_time: string;
  readonly end_time: string;
  readonly metadata: { readonly result: { readonly exported_files: readonly string[] } };
}

interface File {
  /** BUCKET/KEY. */
  readonly file: string;
  readonly run_id: string;
  readonly start_time: string;
  readonly end_time: string;
  readonly status: string;
}

const SHAPE: Shape<File> = {
  nameOf: ({ file }) => file,
  columns: [
    { heading: 'FROM', cell: ({ start_time: at }) => at },
    { heading: 'TO', isWide: true, cell: ({ end_time: at }) => at },
    { heading: 'RUN', isWide: true, cell: ({ run_id: id }) => id },
    { heading: 'STATUS', isWide: true, cell: ({ status }) => status },
    { heading: 'FILE', cell: ({ file }) => file },
  ],
};

/** `agentplane export files NAME`: every finished file, by day. */
export async function listFiles(
  given: string,
  { output, ...flags }: TargetFlags & { readonly output: OutputFormat },
): Promise<void> {
  const target = resolveTarget(flags);
  const rest = new RestClient(target.rest);
  const { id } = await readExport(target, rest, given);
  const runs = await rest.request<readonly Run[]>('GET', `${EXPORTS_PATH}/${id}/runs`);
  const files = runs
    .toSorted((a, b) => a.start_time.localeCompare(b.start_time))
    .flatMap(({ id: runId, status, start_time, end_time, metadata }): File[] =>
      metadata.result.exported_files.map((file) => ({ file, run_id: runId, start_time, end_time, status })),
    );
  if (files.length === 0 && output.kind === 'table') {
    process.stderr.write(`export ${given} has no finished file yet\n`);
    return;
  }
  process.stdout.write(await renderItems(output, files, SHAPE));
}

export interface ExportVerifyFlags extends TargetFlags {
  readonly quick: boolean;
}

interface ExportAnswer extends VerifiedExport {
  readonly status: string;
}

/** States that no waiting changes. */
const ENDED: readonly string[] = ['CANCELLED', 'FAILED', 'TIMEDOUT'];

/** `agentplane export verify NAME`. */
export async function verifyExport(given: string, flags: ExportVerifyFlags): Promise<void> {
  const target = resolveTarget(flags);
  const rest = new RestClient(target.rest);
  const found = await readExport<ExportAnswer>(target, rest, given);
  if (found.status !== 'COMPLETED')
    throw new CommandError(
      'failed',
      `verifying export ${given} failed: it is ${found.status}, ${
        ENDED.includes(found.status)
          ? 'and only the files of one that is COMPLETED are compared'
          : 'wait until it is COMPLETED'
      }`,
    );
  const config = await destinationOf(rest, found, `verifying export ${given}`);
  const runs = await rest.request<readonly VerifiedRun[]>('GET', `${EXPORTS_PATH}/${found.id}/runs`);
  const store = openStore(target, config);
  try {
    const place = { bucket: config.bucket_name, prefix: config.prefix };
    const inBucket = await compareWithBucket(found, runs, place, store, !flags.quick);
    const inStore = await compareStore(found, runs, rest, { countsFeedback: !flags.quick });
    const differences = [...inBucket.differences, ...inStore.differences];
    const notCompared = [...inBucket.notCompared, ...inStore.notCompared];
    const unknown = notCompared.map((what) => `not compared: ${what}\n`).join('');
    if (differences.length === 0) {
      print(`${given} ${renderVerified(found, runs, flags.quick)}${unknown}`);
      return;
    }
    print(unknown);
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
export function openStore({ local }: Target, config: DestinationConfig): ObjectStore {
  const own = local?.credentials.objectStore;
  const endpoint = config.endpoint_url ?? undefined;
  return openObjectStore({
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(config.region === null ? {} : { region: config.region }),
    includeBucketInPrefix: config.include_bucket_in_prefix,
    // the user controls the machine on which this runs
    allowPrivateEndpoints: true,
    ...(own?.endpoint === endpoint
      ? { accessKeyId: own?.accessKeyId, secretAccessKey: own?.secretAccessKey }
      : { allowEnvironmentCredentials: true }),
  });
}

/** States in full what was compared: people take "verified" for more than it is. */
function renderVerified(
  { rows_exported: rows, resources }: ExportAnswer,
  runs: readonly VerifiedRun[],
  isQuick: boolean,
): string {
  const hasFeedback = resources.includes('feedback');
  const feedback = runs.reduce((sum, { metadata }) => sum + metadata.result.feedback_rows_written, 0);
  const what = `${rows} rows${hasFeedback ? ` and ${feedback} feedback` : ''}`;
  const inStore = hasFeedback && isQuick ? 'rows without feedback' : 'rows';
  return `verified: ${what} of ${runs.length} ${runs.length === 1 ? 'day' : 'days'}
compared: manifests with the runs of the export; ${isQuick ? 'sizes' : 'sizes and checksums'} of files; ${inStore} of each day with the trace store, by number: row counts, not their contents
`;
}

async function compareWithBucket(
  found: VerifiedExport,
  runs: readonly VerifiedRun[],
  place: VerifiedPlace,
  store: ObjectStore,
  readsFiles: boolean,
): Promise<Findings> {
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
