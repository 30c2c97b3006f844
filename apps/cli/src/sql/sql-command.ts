import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { renderTable } from '#lib/command-line';
import type { ObjectStore } from '#lib/object-store';
import type { BulkExportSpec } from '#lib/resources';
import { RestClient } from '#lib/rest-client';
import { cacheFolder } from '../cache-folder.js';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { ownNamespace } from '../context/own-namespace.js';
import { resolveTarget, type Target, type TargetFlags } from '../context/target.js';
import { waitForExport } from '../export/export-command.js';
import { createNew, nameFor, projectRef } from '../export/export-create-command.js';
import { openStore } from '../export/export-files-command.js';
import { destinationOf, EXPORTS_PATH, type FoundExport, readExport } from '../export/find-export.js';
import { type OutputFormat, print, renderItems } from '../output/print-items.js';

export interface SqlFlags extends TargetFlags {
  readonly command: string | undefined;
  /** Asked by an export of its own, in place of one that was made before. */
  readonly project: string | undefined;
  readonly last: string | undefined;
  readonly destination: string;
  readonly timeout: number;
  readonly to: string | undefined;
  readonly output: OutputFormat;
}

interface ExportAnswer extends FoundExport {
  readonly format: string;
  readonly format_version: string;
  readonly finished_at: string | null;
}

interface RunAnswer {
  readonly metadata: { readonly result: { readonly exported_files: readonly string[] } };
}

/** An exported file on this machine. */
interface LocalFile {
  readonly path: string;
  readonly isFeedback: boolean;
}

/** DuckDB is installed by those who ask in SQL: it is larger than the rest, and the first build knows no types of it. */
const ENGINE: string = '@duckdb/node-api';

/** Members of DuckDB that are used here. */
interface Engine {
  readonly DuckDBInstance: { create(): Promise<{ connect(): Promise<Connection> }> };
}

interface Connection {
  run(statement: string): Promise<unknown>;
  runAndReadAll(statement: string): Promise<Answer>;
}

interface Answer {
  columnNames(): readonly string[];
  getRowsJson(): readonly (readonly unknown[])[];
  getRowObjectsJson(): readonly Readonly<Record<string, unknown>>[];
}

const DEFAULT_WINDOW = '7d';
const PAGE = 100;
const FORMATS: Readonly<Record<string, string>> = { '.parquet': 'PARQUET', '.csv': 'CSV', '.json': 'JSON' };

/** `agentplane sql [EXPORT]`: statements over the files of exports, which are fetched once. */
export async function askInSql(name: string | undefined, flags: SqlFlags): Promise<void> {
  const format = flags.to === undefined ? undefined : FORMATS[extname(flags.to)];
  if (flags.to !== undefined && format === undefined)
    throw new CommandError('usage', `--to ${flags.to} is not .parquet, .csv or .json`);
  const { project } = flags;
  if (project === undefined ? flags.last !== undefined : name !== undefined)
    throw new CommandError('usage', 'sql takes an EXPORT, or --project and --last for a new one');
  const { DuckDBInstance } = await loadEngine();
  const target = resolveTarget(flags);
  const given = project === undefined ? name : await exportProject(target, project, flags);
  const rest = new RestClient(target.rest);
  const exports = alike(
    given === undefined ? await completeExports(rest) : [await oneExport(target, rest, given)],
  );
  if (exports.length === 0)
    throw new CommandError(
      'notFound',
      'no export as Parquet is complete: --project asks a tracing project, by an export of its own',
    );
  const files: LocalFile[] = [];
  for (const one of exports) files.push(...(await fetchFiles(target, rest, one)));
  const connection = await (await DuckDBInstance.create()).connect();
  await makeViews(connection, exports, files);
  const ask = async (statement: string): Promise<void> => {
    if (flags.to === undefined) return await printRows(connection, statement, flags.output);
    const query = statement.trim().replace(/;$/, '');
    await connection.run(`COPY (${query}) TO ${quoted(resolve(flags.to))} (FORMAT ${format})`);
  };
  if (flags.command === undefined && process.stdin.isTTY) return await talk(ask);
  try {
    await ask(flags.command ?? (await text(process.stdin)));
  } catch (error) {
    throw new CommandError('failed', messageOf(error), { cause: error });
  }
}

/**
 * Exports what a project has until now; days of the lake are copied into it, others come from Postgres.
 * @returns the name of the export
 */
async function exportProject(
  target: Target,
  project: string,
  { last = DEFAULT_WINDOW, destination, timeout }: SqlFlags,
): Promise<string> {
  const key = { name: nameFor(project), namespace: await ownNamespace(target) };
  return await withKube(target, async ({ client }) => {
    const spec: BulkExportSpec = {
      destinationRef: { name: destination },
      tracingProject: projectRef(project),
      last,
      formatVersion: 'v2_beta',
      resources: ['runs', 'feedback'],
      format: 'parquet',
      compression: 'zstd',
      cancel: false,
      suspend: false,
    };
    await createNew(client, { metadata: key, spec });
    process.stderr.write(await waitForExport(client, key, timeout));
    return key.name;
  });
}

/** DuckDB from the packages beside this program, else from the folder that the advice names. */
async function loadEngine(): Promise<Engine> {
  const folder = join(cacheFolder(), 'duckdb');
  for (const resolveEngine of [() => ENGINE, () => pathToFileURL(engineIn(folder)).href])
    try {
      return (await import(resolveEngine())) as Engine;
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  const install = `npm install --prefix ${folder} ${ENGINE}`;
  throw new CommandError('failed', `DuckDB is not installed; install it (68 MB): ${install}`);
}

function engineIn(folder: string): string {
  return createRequire(join(folder, 'package.json')).resolve(ENGINE);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(ERR_)?MODULE_NOT_FOUND$/.test(String(error.code));
}

async function completeExports(rest: RestClient): Promise<readonly ExportAnswer[]> {
  const found: ExportAnswer[] = [];
  for (let after = ''; ;) {
    const query = `status=COMPLETED&limit=${PAGE}${after === '' ? '' : `&after=${after}`}`;
    const page = await rest.request<readonly ExportAnswer[]>('GET', `${EXPORTS_PATH}?${query}`);
    found.push(...page.filter((one) => one.format === 'Parquet' && one.interval_hours === null));
    after = page.at(-1)?.id ?? '';
    if (page.length < PAGE) return found;
  }
}

async function oneExport(target: Target, rest: RestClient, given: string): Promise<ExportAnswer> {
  const found = await readExport<ExportAnswer>(target, rest, given);
  if (found.format !== 'Parquet')
    throw new CommandError('failed', `export ${given} has lines of JSON and no Parquet`);
  return found;
}

/** Exports of one format version: lists of one are text in the other. */
function alike(exports: readonly ExportAnswer[]): readonly ExportAnswer[] {
  const version = exports.some((one) => one.format_version === 'v2_beta') ? 'v2_beta' : 'v1';
  const chosen = exports.filter((one) => one.format_version === version);
  const others = exports.length - chosen.length;
  if (others > 0)
    process.stderr.write(`${others} exports of format version v1 are left out: name one to ask it\n`);
  return chosen;
}

/** Files of an export, from its destination once. A file of a complete export never changes. */
async function fetchFiles(target: Target, rest: RestClient, found: ExportAnswer): Promise<LocalFile[]> {
  const { id } = found;
  const runs = await rest.request<readonly RunAnswer[]>('GET', `${EXPORTS_PATH}/${id}/runs`);
  const keys = runs.flatMap(({ metadata }) => metadata.result.exported_files);
  const folder = join(cacheFolder(), 'exports', id);
  const files = keys.map((key) => ({
    key,
    path: join(folder, `${nameOf(key)}.parquet`),
    isFeedback: /\/(resource=)?feedback\/year=/.test(key),
  }));
  const missing = files.filter(({ path }) => !existsSync(path));
  if (missing.length === 0) return files;
  const config = await destinationOf(rest, found, `reading export ${id}`);
  const store = openStore(target, config);
  try {
    for (const [at, file] of missing.entries()) {
      const bytes = await fetchFile(store, config.bucket_name, file);
      process.stderr.write(`${at + 1} of ${missing.length} files fetched, ${bytes} bytes\n`);
    }
  } finally {
    store.close();
  }
  return files;
}

/** A name of any length and characters as a short one. */
function nameOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}

/** @param file `key` begins with the bucket */
async function fetchFile(
  store: ObjectStore,
  bucket: string,
  { key, path }: { readonly key: string; readonly path: string },
): Promise<number> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const half = `${path}.${process.pid}`;
  await pipeline(
    await store.get(bucket, key.slice(bucket.length + 1)),
    createWriteStream(half, { mode: 0o600 }),
  );
  renameSync(half, path);
  return statSync(path).size;
}

/** A row that several exports have is that of the one that ended last. */
async function makeViews(
  connection: Connection,
  exports: readonly ExportAnswer[],
  files: readonly LocalFile[],
): Promise<void> {
  const order = exports.toSorted((a, b) => (a.finished_at ?? '').localeCompare(b.finished_at ?? ''));
  const rank = `CASE ${order.map(({ id }, at) => `WHEN contains(filename, ${quoted(`/${id}/`)}) THEN ${at}`).join(' ')} END`;
  const view = async (name: string, paths: readonly string[]): Promise<void> => {
    if (paths.length === 0) return;
    const rows = `read_parquet([${paths.map(quoted).join(', ')}], union_by_name = true, filename = true, hive_partitioning = false)`;
    const newest = `QUALIFY row_number() OVER (PARTITION BY id ORDER BY ${rank} DESC) = 1`;
    await connection.run(
      `CREATE VIEW ${name} AS SELECT * EXCLUDE (filename) FROM ${rows}${exports.length > 1 ? ` ${newest}` : ''}`,
    );
  };
  const pathsOf = (isFeedback: boolean) =>
    files.filter((one) => one.isFeedback === isFeedback).map(({ path }) => path);
  const runs = pathsOf(false);
  if (runs.length === 0) throw new CommandError('notFound', 'the exports have no rows: nothing can be asked');
  await view('runs', runs);
  await view('feedback', pathsOf(true));
  await connection.run('CREATE VIEW traces AS SELECT * FROM runs WHERE parent_run_id IS NULL');
}

async function printRows(connection: Connection, statement: string, output: OutputFormat): Promise<void> {
  const reader = await connection.runAndReadAll(statement);
  if (output.kind === 'table' || output.kind === 'wide') {
    const rows = reader.getRowsJson().map((row) => row.map(cellOf));
    return print(renderTable(reader.columnNames(), rows));
  }
  const rows = reader.getRowObjectsJson();
  print(await renderItems(output, rows, { nameOf: () => '', columns: [] }));
}

function cellOf(value: unknown): string {
  return value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
}

/** Statements of a terminal, each ended by a semicolon, until Ctrl-D. */
async function talk(ask: (statement: string) => Promise<void>): Promise<void> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, prompt: 'sql> ' });
  let statement = '';
  lines.prompt();
  for await (const line of lines) {
    statement += `${line}\n`;
    if (statement.trimEnd().endsWith(';')) {
      await ask(statement).catch((error: unknown) => process.stderr.write(`${messageOf(error)}\n`));
      statement = '';
    }
    lines.setPrompt(statement.trim() === '' ? 'sql> ' : '...> ');
    lines.prompt();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function quoted(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
