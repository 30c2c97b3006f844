import { NOTHING, type Progress, type ProgressFile, type Tally, UNBEGUN } from './progress-file.js';

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
