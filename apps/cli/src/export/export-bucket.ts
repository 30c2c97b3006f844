import { createHash } from 'node:crypto';
import { visibleText } from '#lib/command-line';
import { manifestKey } from '#lib/export-plan';
import type { ObjectStore } from '#lib/object-store';

/** Result of a comparison. */
export interface Findings {
  /** A sentence for each. */
  readonly differences: readonly string[];
  /** Parts that could not be compared, and why; a sentence for each. */
  readonly notCompared: readonly string[];
}

/** A completed export as the REST interface answers it, as far as verifying asks. */
export interface VerifiedExport {
  readonly id: string;
  readonly tenant_id: string;
  readonly session_id: string;
  readonly format_version: 'v1' | 'v2_beta';
  readonly filter: string | null;
  /** runs, and feedback where it is exported too. */
  readonly resources: readonly string[];
  /** The export whose late runs it has. */
  readonly late_runs_of_bulk_export_id: string | null;
  readonly rows_exported: number;
}

/** A day of it. */
export interface VerifiedRun {
  /** RFC 3339, inclusive. */
  readonly start_time: string;
  /** Exclusive. */
  readonly end_time: string;
  readonly rows_exported: number;
  readonly metadata: {
    readonly result: {
      readonly feedback_rows_written: number;
      /** BUCKET/KEY of each; none of an export that was archived long ago. */
      readonly exported_files: readonly string[];
    };
  };
}

/** Location of its files. */
export interface VerifiedPlace {
  readonly bucket: string;
  readonly prefix: string;
}

interface ManifestFile {
  readonly key: string;
  readonly rows: number;
  readonly bytes: number;
  /** Manifests of older versions have none. */
  readonly sha256?: string;
}

/** Files and the rows that they have together. */
interface ManifestContents {
  readonly rows: number;
  readonly files: readonly ManifestFile[];
}

interface Manifest extends ManifestContents {
  /** Feedback of an export that has some. */
  readonly feedback?: ManifestContents;
}

/** Amount compared so far, for people who wait. */
export interface BucketProgress {
  readonly runs: number;
  readonly files: number;
  readonly bytes: number;
}

export interface BucketOptions {
  /** True when files are read whole, to compare their checksums; their sizes are compared in any case. */
  readonly readsFiles: boolean;
  readonly progress: (soFar: BucketProgress) => void;
}

/** A manifest has some 400 bytes for each file of a day. */
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;
/** Limit of differences: a foreign bucket may hold any number of objects that differ. */
const MAX_DIFFERENCES = 1_000;

/**
 * Compares the content of the bucket with the manifests and the export's runs.
 * @returns sentences that are a line each and may be shown; no difference when all is as it should be
 * @throws ObjectStoreError, `AccessDenied` too: a key that may only write cannot verify
 */
export async function compareBucket(
  found: VerifiedExport,
  runs: readonly VerifiedRun[],
  { bucket, prefix }: VerifiedPlace,
  store: Pick<ObjectStore, 'get' | 'list' | 'stat'>,
  { readsFiles, progress }: BucketOptions,
): Promise<Findings> {
  const differences: string[] = [];
  const notCompared: string[] = [];
  const named = new Set<string>();
  let [rows, files, bytes] = [0, 0, 0];
  for (const [at, run] of runs.entries()) {
    const key = manifestKey({
      prefix,
      exportId: found.id,
      tenantId: found.tenant_id,
      projectId: found.session_id,
      formatVersion: found.format_version,
      day: run.start_time.slice(0, 10),
    });
    const manifest = await readManifest(store, bucket, key);
    if (typeof manifest === 'string') {
      differences.push(manifest);
      continue;
    }
    const inManifest = [...manifest.files, ...(manifest.feedback?.files ?? [])];
    for (const file of inManifest) {
      named.add(file.key);
      const difference = await compareFile(store, bucket, file, readsFiles);
      if (difference !== undefined) differences.push(`${file.key}: ${difference}`);
      files++;
      bytes += file.bytes;
      progress({ runs: at, files, bytes });
    }
    differences.push(...compareRows(key, manifest, run));
    const { exported_files: exported } = run.metadata.result;
    if (exported.length === 0 && run.rows_exported > 0)
      notCompared.push(`${key} with the list of files of its run, which was archived without it`);
    else
      differences.push(
        ...compareNames(
          key,
          inManifest.map((file) => `${bucket}/${file.key}`),
          exported,
        ),
      );
    rows += manifest.rows;
    progress({ runs: at + 1, files, bytes });
  }
  if (rows !== found.rows_exported)
    differences.push(`the manifests name ${rows} rows, the export reports ${found.rows_exported}`);
  const start = prefix.replace(/^\/+|\/+$/g, '');
  for await (const { key } of store.list(
    bucket,
    `${start === '' ? '' : `${start}/`}export_id=${found.id}/`,
  )) {
    if (!named.has(key)) differences.push(`${key}: no manifest names this object`);
    if (differences.length >= MAX_DIFFERENCES) {
      differences.push(`comparing ended after ${differences.length} differences`);
      break;
    }
  }
  return { differences: differences.map(oneLine), notCompared: notCompared.map(oneLine) };
}

/** Names in a bucket may have line ends, and what terminals obey. */
function oneLine(text: string): string {
  return visibleText(text).replace(/[\n\t]/g, (character) => (character === '\n' ? '\\n' : '\\t'));
}

function compareSums(key: string, what: string, contents: ManifestContents | undefined): readonly string[] {
  const { rows, files } = contents ?? { rows: 0, files: [] };
  const sum = files.reduce((total, file) => total + file.rows, 0);
  return sum === rows ? [] : [`${key}: its files${what} have ${sum} rows, it names ${rows}`];
}

/** @param inManifest BUCKET/KEY, as `exported` */
function compareNames(
  key: string,
  inManifest: readonly string[],
  exported: readonly string[],
): readonly string[] {
  const [named, written] = [new Set(inManifest), new Set(exported)];
  return [
    ...exported
      .filter((name) => !named.has(name))
      .map((name) => `${key}: it does not name ${name}, which the run of that day reports`),
    ...inManifest
      .filter((name) => !written.has(name))
      .map((name) => `${key}: it names ${name}, which the run of that day does not report`),
  ];
}

function compareRows(key: string, manifest: Manifest, run: VerifiedRun): readonly string[] {
  const { rows, feedback } = manifest;
  const { feedback_rows_written: written } = run.metadata.result;
  const ofFeedback = feedback?.rows ?? 0;
  return [
    ...compareSums(key, '', manifest),
    ...compareSums(key, ' of feedback', feedback),
    ...(rows === run.rows_exported
      ? []
      : [`${key}: it names ${rows} rows, the run of that day reports ${run.rows_exported}`]),
    ...(ofFeedback === written
      ? []
      : [`${key}: it names ${ofFeedback} feedback, the run of that day reports ${written}`]),
  ];
}

async function readManifest(
  store: Pick<ObjectStore, 'get' | 'stat'>,
  bucket: string,
  key: string,
): Promise<Manifest | string> {
  const stat = await store.stat(bucket, key);
  if (!stat) return `${key}: the manifest does not exist`;
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of await store.get(bucket, key)) {
    bytes += (piece as Buffer).length;
    if (bytes > MAX_MANIFEST_BYTES) break;
    pieces.push(piece as Buffer);
  }
  if (bytes > MAX_MANIFEST_BYTES)
    return `${key}: the object has more than ${MAX_MANIFEST_BYTES} bytes, and is not a manifest`;
  try {
    const manifest = JSON.parse(Buffer.concat(pieces).toString()) as Partial<Manifest>;
    if (isContents(manifest) && (manifest.feedback === undefined || isContents(manifest.feedback)))
      return manifest as Manifest;
  } catch {
    // invalid JSON is reported like any other object that is not a manifest
  }
  return `${key}: the object is not a manifest`;
}

function isContents(value: Partial<ManifestContents>): boolean {
  return typeof value.rows === 'number' && Array.isArray(value.files) && value.files.every(isFile);
}

function isFile(value: unknown): boolean {
  const { key, rows, bytes, sha256 } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isNamed = typeof key === 'string' && (sha256 === undefined || typeof sha256 === 'string');
  return isNamed && typeof rows === 'number' && typeof bytes === 'number';
}

async function compareFile(
  store: Pick<ObjectStore, 'get' | 'stat'>,
  bucket: string,
  { key, bytes, sha256 }: ManifestFile,
  readsFiles: boolean,
): Promise<string | undefined> {
  const stat = await store.stat(bucket, key);
  if (!stat) return 'the file does not exist';
  if (stat.size !== bytes) return `${stat.size} bytes stored, the manifest names ${bytes}`;
  if (!readsFiles || sha256 === undefined) return undefined;
  const hash = createHash('sha256');
  for await (const chunk of await store.get(bucket, key)) hash.update(chunk as Buffer);
  const digest = hash.digest('hex');
  return digest === sha256 ? undefined : `its SHA-256 is ${digest}, the manifest names ${sha256}`;
}
