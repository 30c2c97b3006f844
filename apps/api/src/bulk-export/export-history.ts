import { setImmediate } from 'node:timers/promises';
import { parseJson } from '#lib/json';
import type { BulkExport, BulkExportRun } from '#lib/resources';
import { idOf, isFinishedExport, exportWireStatus } from '#lib/resources';
import type {
  ArchivedExport,
  ArchivedRunsPart,
  ArchivePlace,
  ArchiveSearch,
  TraceStore,
} from '#lib/trace-store';
import type { ResourceHome } from '../kubernetes/resource-home.js';

/** An export, wherever it is kept. */
export interface FoundExport {
  readonly bulkExport: BulkExport;
  /** Set for an archived export: the id of its destination as it was then. */
  readonly archived?: { readonly destinationId: string | undefined };
}

/**
 * Conditions on listed exports: those of the API server by a function, those of the archive by the same in
 * its terms.
 */
interface WantedExports extends Omit<ArchiveSearch, 'except' | 'after'> {
  readonly isListed: (bulkExport: BulkExport) => boolean;
  /** The export that the page before ended with. */
  readonly after?: FoundExport | undefined;
}

/** Owner of the exports: one namespace of the API server, one tenant of the archive. */
export interface ExportOwner {
  readonly tenantId: string;
  readonly namespace: string;
}

/** Maximum number of continuations of one export; more than are made in practice. */
const MOST_CONTINUATIONS = 100;

function parse<T>(text: string): T {
  return parseJson(text) as T;
}

/** Bytes of objects that are parsed one after another: a page of a thousand may have 64 MB. */
const PARSED_AT_ONCE = 256 * 1024;

/** Parses stored objects in pieces between which others are served. */
async function eachInTurn<T extends { readonly object: string }, R>(
  stored: readonly T[],
  parseOne: (one: T) => R,
): Promise<R[]> {
  const found: R[] = [];
  let chars = 0;
  for (const one of stored) {
    chars += one.object.length;
    if (chars > PARSED_AT_ONCE) {
      await setImmediate();
      chars = one.object.length;
    }
    found.push(parseOne(one));
  }
  return found;
}

function ofArchive({ object, destinationId }: ArchivedExport): FoundExport {
  return { bulkExport: parse<BulkExport>(object), archived: { destinationId } };
}

function placeOf(bulkExport: BulkExport): ArchivePlace {
  const { name, creationTimestamp: createdAt = '' } = bulkExport.metadata;
  return { createdAt, name, id: idOf(bulkExport) ?? '' };
}

/** Newest first, as both of the lists are. */
function isBefore(a: ArchivePlace, b: ArchivePlace): boolean {
  const [x, y] = [
    [a.createdAt, a.name, a.id],
    [b.createdAt, b.name, b.id],
  ];
  const at = x.findIndex((part, index) => part !== y[index]);
  return at >= 0 && (x[at] ?? '') > (y[at] ?? '');
}

/**
 * Exports that the API server holds and those that were moved to the archive, as one: an id that was answered
 * once is found from then on. An export is stored in the archive before it is deleted; while it is in both,
 * the resource counts.
 */
export class ExportHistory {
  constructor(
    private readonly exports: Pick<ResourceHome<BulkExport>, 'find' | 'list'>,
    private readonly runs: Pick<ResourceHome<BulkExportRun>, 'filter'>,
    private readonly archive: TraceStore['exportArchive'],
  ) {}

  async find({ tenantId, namespace }: ExportOwner, id: string): Promise<FoundExport | undefined> {
    const live = this.exports.find(namespace, id);
    if (live) return { bulkExport: live };
    const archived = await this.archive.find(tenantId, id);
    return archived && ofArchive(archived);
  }

  /** The newest of a name that is archived. */
  async findArchived({ tenantId }: ExportOwner, name: string): Promise<FoundExport | undefined> {
    const archived = await this.archive.findNamed(tenantId, name);
    return archived && ofArchive(archived);
  }

  /** Runs by time of their window. For an archived export, no more are read than are asked for. */
  async runsOf(
    { tenantId, namespace }: ExportOwner,
    { bulkExport, archived }: FoundExport,
    part: ArchivedRunsPart = {},
  ): Promise<BulkExportRun[]> {
    if (archived) {
      const runs = await this.archive.runs(tenantId, idOf(bulkExport) ?? '', part);
      return eachInTurn(runs, ({ object }) => parse<BulkExportRun>(object));
    }
    const { name } = bulkExport.metadata;
    const { id, offset = 0, limit = Infinity } = part;
    return this.runs
      .filter(namespace, (run) => run.spec.exportName === name && (id === undefined || idOf(run) === id))
      .map((run) => ({ run, startMs: Date.parse(run.spec.startTime) }))
      .sort((a, b) => a.startMs - b.startMs)
      .slice(offset, offset + limit)
      .map(({ run }) => run);
  }

  /** Every export that continues this one, whatever became of it. */
  async continuationsOf({ tenantId, namespace }: ExportOwner, id: string): Promise<readonly BulkExport[]> {
    const live = this.exports.list(namespace).filter(({ spec }) => spec.continues?.id.toLowerCase() === id);
    const except = live.map((one) => idOf(one) ?? '');
    const search = { continuesId: id, except, offset: 0, limit: MOST_CONTINUATIONS };
    const archived = await this.archive.list(tenantId, search);
    return [...live, ...(await eachInTurn(archived, (one) => ofArchive(one).bulkExport))];
  }

  /** All matching exports of both, oldest first. @param size of the pages, of which one is held at a time */
  async *oldestFirst(
    owner: ExportOwner,
    wanted: Omit<WantedExports, 'offset' | 'limit' | 'after'>,
    size: number,
  ): AsyncGenerator<FoundExport> {
    const page = (after: FoundExport | undefined) =>
      this.list(owner, { ...wanted, after, offset: 0, limit: size });
    // pages are found from the newest on: the last export of each leads to the next
    const before: (FoundExport | undefined)[] = [undefined];
    for (let found = await page(undefined); found.length === size; found = await page(before.at(-1)))
      before.push(found.at(-1));
    for (const after of before.toReversed()) yield* (await page(after)).toReversed();
  }

  /** A page of the matching exports of both, newest first. */
  async list(
    { tenantId, namespace }: ExportOwner,
    { isListed, after: last, ...search }: WantedExports,
  ): Promise<readonly FoundExport[]> {
    const { offset, limit } = search;
    const after = last && placeOf(last.bulkExport);
    const all = this.exports.list(namespace);
    const live = all.filter((one) => (!after || isBefore(after, placeOf(one))) && isListed(one));
    // archived exports before this index cannot be in the page: at most all live ones come before them
    const first = Math.max(0, offset - live.length);
    const ended = all.filter((one) => isFinishedExport(exportWireStatus(one)));
    const archived = await this.archive.list(tenantId, {
      ...search,
      except: ended.map((one) => idOf(one) ?? ''),
      after,
      offset: first,
      limit: offset + limit - first,
    });
    const merged = merge(live, await eachInTurn(archived, ofArchive));
    return merged.slice(offset - first, offset - first + limit);
  }
}

/** Two lists in order as one. */
function merge(live: readonly BulkExport[], archived: readonly FoundExport[]): FoundExport[] {
  const merged: FoundExport[] = [];
  let next = 0;
  for (const one of archived) {
    for (; next < live.length; next++) {
      const bulkExport = live[next];
      if (!bulkExport || !isBefore(placeOf(bulkExport), placeOf(one.bulkExport))) break;
      merged.push({ bulkExport });
    }
    merged.push(one);
  }
  return [...merged, ...live.slice(next).map((bulkExport) => ({ bulkExport }))];
}
