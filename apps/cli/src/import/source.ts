import type { JsonObject } from '#lib/json';

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
  /** Spans in the JSON of OTLP instead of runs. */
  readonly spans?: readonly JsonObject[];
  /** Feedback as `POST /feedback` takes it. */
  readonly feedback: readonly JsonObject[];
  readonly attachments?: number;
  readonly next: string | undefined;
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
