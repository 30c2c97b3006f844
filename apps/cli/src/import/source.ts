import { createHash } from 'node:crypto';
import { unless } from '#lib/errors';
import { type JsonObject, own } from '#lib/json';
import { isUuid } from '#lib/resources';
import { RestError, type RestRequests } from '#lib/rest-client';

/** Where a source is, and what of it is moved. */
export interface SourceOptions {
  readonly rest: RestRequests;
  /** Address of the server, a part of derived ids. */
  readonly from: string;
  readonly since: string | undefined;
  readonly until: string | undefined;
  /** Names or ids; empty: all. */
  readonly projects: readonly string[];
}

/** True for a project that is moved. @param words its name and id */
export function isChosen(
  { projects }: Pick<SourceOptions, 'projects'>,
  ...words: readonly string[]
): boolean {
  return projects.length === 0 || projects.some((one) => words.includes(one));
}

/** A tracing project as `POST /sessions` takes it; the id is the one that it gets here. */
export interface SourceProject {
  /** Id or name by which the source is asked for its runs. */
  readonly ref: string;
  readonly body: JsonObject & { readonly id: string; readonly name: string };
  /** Runs that it has, where the source says so. */
  readonly total: number | undefined;
}

/** A dataset as `POST /datasets` takes it. */
export interface SourceDataset {
  readonly ref: string;
  readonly body: JsonObject & { readonly id: string; readonly name: string };
}

/** Runs of a project with what was said of them. `next` is the cursor behind them, absent at the end. */
export interface RunPage {
  /** Runs as `POST /runs/multipart` takes them. */
  readonly runs?: readonly JsonObject[];
  /** Spans in the JSON of OTLP instead of runs; each names its project. */
  readonly spans?: readonly JsonObject[];
  /** Feedback as `POST /feedback` takes it. */
  readonly feedback: readonly JsonObject[];
  readonly attachments?: readonly Attachment[];
  readonly next: string | undefined;
}

/** A file of a run, which is read when it is written: a page may have many. */
export interface Attachment {
  readonly runId: string;
  readonly name: string;
  read(): Promise<{ readonly type: string; readonly bytes: Buffer }>;
}

/** Examples of a dataset. */
export interface ExamplePage {
  readonly examples: readonly Example[];
  readonly next: string | undefined;
}

export interface Example {
  readonly id: string;
  readonly inputs: JsonObject;
  readonly outputs: JsonObject | undefined;
  readonly metadata: JsonObject;
  readonly split: readonly string[];
  readonly created_at: string | undefined;
  readonly source_run_id: string | undefined;
}

/** Things of the source that have no place here. */
export interface LeftBehind {
  readonly kind: string;
  readonly count: number;
  readonly note: string;
}

/** A product whose data are read, as far as it has runs and datasets. Everything is read page by page. */
export interface Source {
  /** Word of the command: `langsmith`. */
  readonly product: string;
  projects(): AsyncIterable<SourceProject>;
  /** @param cursor `next` of the page before */
  runs(project: SourceProject, cursor: string | undefined): Promise<RunPage>;
  datasets(): AsyncIterable<SourceDataset>;
  examples(dataset: SourceDataset, cursor: string | undefined): Promise<ExamplePage>;
  leftBehind(): Promise<readonly LeftBehind[]>;
}

/** Namespace of the ids that are derived from ids which are no UUIDs; documented, and never changed. */
const NAMESPACE = '6f1d1c5e-3a0b-5c57-9a41-7b0f6a1e2d94';

/** The id itself when it is a UUID, else UUIDv5 of the parts: product, place and kind before the id. */
export function idOf(id: string, ...place: readonly string[]): string {
  return isUuid(id) ? id.toLowerCase() : uuid5(NAMESPACE, [...place, id].join('\n'));
}

/** UUIDv5 of RFC 9562. */
function uuid5(namespace: string, name: string): string {
  const hash = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name);
  const bytes = hash.digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** The id that the rules for spans give the run of a span. */
export function runIdOf(spanId: string): string {
  return spanId.padStart(32, '0').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** An object as it is; anything else as the one member of one. */
export function asObject(value: unknown, name: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  return value === undefined || value === null ? {} : { [name]: value };
}

/** The members of an object that have a value. */
export function given(members: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== null),
  );
}

/** These members of an object, those that have a value. */
export function picked(from: JsonObject, names: readonly string[]): JsonObject {
  return given(Object.fromEntries(names.map((name) => [name, own(from, name)])));
}

/** True for what the source does not have. */
export function isMissing(error: unknown): boolean {
  return error instanceof RestError && [400, 403, 404, 405, 422, 501].includes(error.status);
}

/** Counts lists that have no place here; 0 for one that the source does not have. */
export async function countLists(
  lists: readonly (readonly [kind: string, path: string, note: string])[],
  count: (path: string) => Promise<number>,
): Promise<readonly LeftBehind[]> {
  const counts = lists.map(async ([kind, path, note]) => ({
    kind,
    count: (await count(path).catch(unless(isMissing))) ?? 0,
    note,
  }));
  return await Promise.all(counts);
}
