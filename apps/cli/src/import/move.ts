import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Lock, readJson, takeLock, writeJson } from '#lib/data-folder';
import type { Destination } from './destination.js';
import type { Source, SourceDataset, SourceProject } from './source.js';
import { contextFilePath } from '../context/context-file.js';

/** One page of things that is read, to be written by `write`. */
export interface Page {
  /** Number of items of each kind. */
  readonly counts: Readonly<Record<string, number>>;
  /** The same of things that are not moved. */
  readonly left?: Readonly<Record<string, number>>;
  readonly next: string | undefined;
  /** @returns how many of each kind were refused; all others are stored */
  write(): Promise<Readonly<Record<string, number>>>;
}

/** A place whose things are moved page by page. */
export interface Part {
  /** Key of its cursor; the same in each start. */
  readonly key: string;
  readonly title: string;
  /** Things of the first kind that it has, where the source says so. */
  readonly total: number | undefined;
  /** Makes it ready to take things, and says under which title it is found here. */
  prepare(): Promise<string>;
  read(cursor: string | undefined): Promise<Page>;
  /** Number of items of each kind that are there afterwards. */
  there(): Promise<Readonly<Record<string, number>>>;
}

/** Row of the table at the end. */
export interface MovedRow {
  readonly kind: string;
  readonly name: string;
  readonly read: number;
  readonly written: number;
  readonly refused: number;
  /** Null where nothing is counted: in a dry run, and of what has no place here. */
  readonly there: number | null;
  readonly note: string;
}

export interface Moving {
  /** Undefined: only count. */
  readonly file: ProgressFile | undefined;
  readonly show: (part: Part, progress: Progress) => void;
}

/** Moves a part from where it was left to its end. */
export async function movePart(part: Part, { file, show }: Moving): Promise<readonly MovedRow[]> {
  let progress = file?.get(part.key) ?? UNBEGUN;
  const title = file ? await part.prepare() : part.title;
  show(part, progress);
  while (!progress.isDone) {
    const page = await part.read(progress.cursor);
    const refused = file ? await page.write() : undefined;
    const tallies = { ...progress.tallies };
    for (const [kind, count] of Object.entries(page.counts))
      tallies[kind] = added(tallies[kind] ?? NOTHING, count, refused && count - (refused[kind] ?? 0));
    for (const [kind, count] of Object.entries(page.left ?? {}))
      tallies[kind] = added(tallies[kind] ?? NOTHING, count, undefined);
    const { next } = page;
    progress = { tallies, isDone: next === undefined, ...(next === undefined ? {} : { cursor: next }) };
    file?.set(part.key, progress);
    show(part, progress);
  }
  const there = file ? await part.there() : {};
  const note = title === part.title ? '' : `here ${title}`;
  return Object.entries(progress.tallies).map(([kind, tally]) => ({
    kind,
    name: part.title,
    ...tally,
    there: there[kind] ?? null,
    note,
  }));
}

function added(tally: Tally, read: number, written: number | undefined): Tally {
  return {
    read: tally.read + read,
    written: tally.written + (written ?? 0),
    refused: tally.refused + (written === undefined ? 0 : read - written),
  };
}

/** Datasets and projects of a source, in the order in which they can be written: experiments need their datasets. */
export async function* partsOf(source: Source, there: Destination): AsyncIterable<Part> {
  const projects: SourceProject[] = [];
  for await (const project of source.projects()) projects.push(project);
  for await (const dataset of source.datasets()) yield datasetPart(source, there, dataset);
  for (const project of projects) yield projectPart(source, there, project);
}

function projectPart(source: Source, there: Destination, project: SourceProject): Part {
  const { id, name: title } = project.body;
  return {
    key: `project ${id}`,
    title,
    total: project.total,
    prepare: async () => await there.ensureProject(project),
    async read(cursor): Promise<Page> {
      const page = await source.runs(project, cursor);
      const { runs = [], spans = [], feedback, attachments = [], next } = page;
      return {
        counts: {
          runs: runs.length + spans.length,
          feedback: feedback.length,
          ...(attachments.length > 0 ? { attachments: attachments.length } : {}),
        },
        next,
        write: async () => await there.writeRuns(page),
      };
    },
    there: async () => await there.thereOfProject(id),
  };
}

function datasetPart(source: Source, there: Destination, dataset: SourceDataset): Part {
  const { id, name: title } = dataset.body;
  return {
    key: `dataset ${id}`,
    title,
    total: undefined,
    prepare: async () => await there.ensureDataset(dataset),
    async read(cursor): Promise<Page> {
      const { examples, next } = await source.examples(dataset, cursor);
      return {
        counts: { examples: examples.length },
        next,
        write: async () => (examples.length === 0 ? {} : await there.writeExamples(id, examples)),
      };
    },
    there: async () => await there.thereOfDataset(id),
  };
}

/** Counts of one kind of thing in one place. */
export interface Tally {
  readonly read: number;
  readonly written: number;
  readonly refused: number;
}

const NOTHING: Tally = { read: 0, written: 0, refused: 0 };

/** Progress of a project, a dataset or a list of an agent server. */
export interface Progress {
  /** Behind the last page that is written; absent: from the start. */
  readonly cursor?: string;
  readonly isDone: boolean;
  readonly tallies: Readonly<Record<string, Tally>>;
}

const UNBEGUN: Progress = { isDone: false, tallies: {} };

interface Stored {
  readonly parts: Readonly<Record<string, Progress>>;
}

/**
 * Cursors of an import in the user's settings, so that one that was killed continues. A page is written before its cursor
 * is stored: a page that was being written is written again, and nothing of it twice, since its ids are the same. The file
 * goes when the import has ended: another import then reads everything again.
 */
export class ProgressFile {
  readonly #path: string;
  readonly #lock: Lock;
  readonly isContinued: boolean;
  #stored: Stored;

  /** @param identity what makes it the same import: the product, both addresses, the window @throws Error while another one runs */
  constructor(identity: readonly (string | undefined)[]) {
    const name = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16);
    this.#path = join(dirname(contextFilePath()), 'imports', `${name}.json`);
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    this.#lock = takeLock(
      `${this.#path}.lock`,
      ({ pid }) => `the same import runs already, as process ${pid}`,
    );
    const found = readJson<Stored>(this.#path);
    this.isContinued = found !== undefined;
    this.#stored = found ?? { parts: {} };
  }

  get(key: string): Progress {
    return this.#stored.parts[key] ?? UNBEGUN;
  }

  set(key: string, progress: Progress): void {
    this.#stored = { parts: { ...this.#stored.parts, [key]: progress } };
    writeJson(this.#path, this.#stored);
  }

  finish(): void {
    rmSync(this.#path, { force: true });
  }

  release(): void {
    this.#lock.release();
  }
}
