import { randomUUID } from 'node:crypto';
import { errorText } from '#lib/errors';
import type { Pool } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { ExportCursor } from '../export/export-progress.js';
import { SEGMENT_COLUMNS } from '../export/export-columns.js';
import { PostgresExportSource } from '../export/postgres-export-source.js';
import { giveBackPartitions } from './empty-partitions.js';
import type { LakeStore } from '../lake/segment-reader.js';
import { eachStep } from '../limited-read.js';
import type { PostgresPayloadStore } from '../run/payload-store.js';
import {
  claimDay,
  type ClaimedDay,
  type DayResult,
  finishDay,
  listDays,
  lookForDays,
  LostDayError,
  noteFailure,
  releaseDay,
  renewClaim,
  timesOf,
} from './lake-days.js';
import type { Lake, LakeDay, LakeDaySearch, LakeOptions, LakeTable, SealedDay } from './lake.js';
import {
  adoptRows,
  deleteFormer,
  deleteGarbage,
  dropIntent,
  hasGarbage,
  isNamed,
  type FormerSegment,
  listFormer,
  listGarbage,
  noteIntent,
  noteWritten,
} from './lake-segments.js';
import { areFilesHeld } from './held-files.js';
import { countDueTables, listTables, TablePublisher } from './lake-table.js';
import { uploadOptions, writeSegment } from './segment-file.js';
import { noteUnnamedObjects } from './unnamed-objects.js';

const FILE_BYTES = 512 << 20;
const HOURS = 24;
const LONGEST_READ_HOURS = 1;
const MS_PER_HOUR = 3_600_000;
/** New days are looked for so often within the quiet hours. */
const NEW_DAYS_SHARE = 24;
/** The lease of a day is a minute. */
const BEAT_MS = 10_000;

export interface SealerParts {
  readonly pool: Pool;
  readonly payloads: Pick<PostgresPayloadStore, 'query' | 'sealed'>;
  readonly options: LakeOptions;
  readonly log: Logger;
  readonly clock: Pick<Clock, 'monotonicMs' | 'now'>;
}

/** A claim that is renewed while its day is worked on. */
class Claim {
  #claim: string;
  #renewedMs: number;

  constructor(
    private readonly parts: Pick<SealerParts, 'pool' | 'clock'>,
    readonly day: ClaimedDay,
    claim: string,
  ) {
    this.#claim = claim;
    this.#renewedMs = parts.clock.monotonicMs();
  }

  get text(): string {
    return this.#claim;
  }

  /** Renews it when that is due. @throws LostDayError */
  async beat(): Promise<void> {
    const nowMs = this.parts.clock.monotonicMs();
    if (nowMs - this.#renewedMs < BEAT_MS) return;
    this.#claim = await renewClaim(this.parts.pool, this.day, this.#claim);
    this.#renewedMs = nowMs;
  }
}

/**
 * Seals days. A day is claimed; then for each file the intent is committed, rows are read and uploaded, and their runs
 * are given their rows of the file, piece by piece; then the new files take the place of the former ones. A worker that dies between any two steps leaves every run with its
 * payloads, in Postgres or in a file that stays: the next one writes the day anew from there.
 */
export class DaySealer implements Lake {
  readonly #parts: SealerParts;
  readonly #source: PostgresExportSource;
  readonly #tables: TablePublisher;
  /** Time of the next search for new days. */
  #addsDaysMs = 0;

  constructor(parts: SealerParts) {
    this.#parts = parts;
    this.#tables = new TablePublisher({ ...parts, place: parts.options });
    this.#source = new PostgresExportSource(parts.pool, parts.payloads, SEGMENT_COLUMNS);
  }

  get place(): LakeStore {
    return this.#parts.options;
  }

  async look(): Promise<number> {
    const { pool, options, clock } = this.#parts;
    const { quietHours = HOURS, eraseHours = HOURS } = options;
    const nowMs = clock.monotonicMs();
    // a day waits for its quiet hours anyway
    const addsDays = nowMs >= this.#addsDaysMs;
    const due = await lookForDays(pool, { quietHours, eraseHours, addsDays });
    if (addsDays) this.#addsDaysMs = nowMs + (quietHours * MS_PER_HOUR) / NEW_DAYS_SHARE;
    return due + (await countDueTables(pool));
  }

  publish({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    return this.#tables.publish(signal);
  }

  tables(tenantId: string, projectIds?: readonly string[]): Promise<readonly LakeTable[]> {
    return listTables(this.#parts.pool, tenantId, projectIds);
  }

  async sealNext({ signal }: { readonly signal: AbortSignal }): Promise<SealedDay | undefined> {
    signal.throwIfAborted();
    const { pool, log } = this.#parts;
    const claimed = await claimDay(pool);
    if (!claimed) return undefined;
    const claim = new Claim(this.#parts, claimed.day, claimed.claim);
    try {
      return await this.#seal(claim, signal);
    } catch (error) {
      const { tenantId, projectId, day } = claim.day;
      if (signal.aborted) await releaseDay(pool, claim.day, claim.text);
      else if (!(error instanceof LostDayError)) {
        const problem = errorText(error);
        log.warn({ tenantId, projectId, day, problem }, 'sealing a day failed; retrying later');
        await noteFailure(pool, claim.day, claim.text, problem);
      }
      throw error;
    }
  }

  async #seal(claim: Claim, signal: AbortSignal): Promise<SealedDay> {
    const { pool, options, log } = this.#parts;
    const { day } = claim;
    const { tenantId, projectId, generation } = day;
    const segments: string[] = [];
    const sums = { rows: 0, bytes: 0, copiedBytes: 0, unadopted: 0, removed: 0 };
    let after: ExportCursor | undefined;
    for (let isLast = false; !isLast;) {
      const part = await this.#sealPart(claim, after, signal);
      ({ isLast, after } = part);
      if (part.segment === undefined) continue;
      segments.push(part.segment);
      for (const name of ['rows', 'bytes', 'copiedBytes', 'unadopted', 'removed'] as const)
        sums[name] += part[name];
    }
    const result: DayResult = { segments, ...sums };
    await finishDay(pool, day, claim.text, result, options.eraseHours ?? HOURS);
    const { rows, bytes, copiedBytes } = sums;
    log.info({ tenantId, projectId, day: day.day, generation, rows, bytes, copiedBytes }, 'day sealed');
    return {
      tenantId,
      projectId,
      day: day.day,
      generation,
      rows: rows - sums.unadopted,
      bytes,
      copiedBytes,
      files: segments.length,
    };
  }

  /** Writes the next file and gives its rows to their runs. */
  async #sealPart(claim: Claim, after: ExportCursor | undefined, signal: AbortSignal) {
    const { pool, options } = this.#parts;
    const { day } = claim;
    const id = randomUUID();
    const key = `${options.prefix}/${day.tenantId}/${day.projectId}/day=${day.day}/generation=${day.generation}/${id}.parquet`;
    const intent = { id, key };
    await noteIntent(pool, day, intent);
    // before the rows are read: a change that it does not see may be in the file, and its run is left alone
    const seen = await currentSnapshot(pool);
    const { tenantId, projectId } = day;
    const { from: startTime, to: endTime } = timesOf(day);
    const window = { tenantId, projectId, startTime, endTime };
    const rows = await this.#source.read(after ? { ...window, after } : window);
    const { file, isLast } = await writeSegment(rows, {
      startUpload: () => options.store.startMultipartUpload(options.bucket, key, uploadOptions(signal)),
      beat: () => claim.beat(),
      fileBytes: options.fileBytes ?? FILE_BYTES,
      metadata: {
        'agentplane.tenant_id': tenantId,
        'agentplane.session_id': projectId,
        'agentplane.day': day.day,
      },
      signal,
    });
    if (!file) {
      await dropIntent(pool, intent);
      return { segment: undefined, isLast, after } as const;
    }
    await noteWritten(pool, day, intent, seen, file);
    let adopted = 0;
    let removed = 0;
    for (const piece of file.pieces(day)) {
      signal.throwIfAborted();
      await claim.beat();
      const result = await adoptRows(pool, day, intent, seen, piece);
      adopted += result.adopted;
      removed += result.removed;
    }
    const { rows: count, bytes, copiedBytes } = file;
    return {
      segment: id,
      isLast,
      after: file.last,
      rows: count,
      bytes,
      copiedBytes,
      unadopted: count - adopted,
      removed,
    } as const;
  }

  async hasGarbage(): Promise<boolean> {
    const { pool } = this.#parts;
    return (await hasGarbage(pool, this.#keptHours)) && !(await areFilesHeld(pool));
  }

  get #keptHours(): number {
    return this.#parts.options.keptHours ?? LONGEST_READ_HOURS;
  }

  async tidy(): Promise<void> {
    const { pool, options, log } = this.#parts;
    const { store, bucket } = options;
    const steps: (() => Promise<unknown>)[] = [() => giveBackPartitions(pool, log)];
    if (await areFilesHeld(pool)) {
      log.info('a backup is under way: no file is deleted');
      return eachStep(steps);
    }
    if (options.isOnlyWriter) steps.push(() => noteUnnamedObjects(pool, options, log));
    for (const object of await listGarbage(pool, this.#keptHours))
      steps.push(() =>
        deleteGarbage(pool, object, async ({ key, isSettled }) => {
          // the row of its segment is gone, and with it whether its worker died in the middle of the upload
          if (isSettled) await this.#abortUploads(key);
          await store.delete(bucket, key);
        }),
      );
    for (const segment of await listFormer(pool, this.#keptHours))
      steps.push(() => this.#deleteFormer(segment));
    await eachStep(steps);
  }

  async #deleteFormer(segment: FormerSegment): Promise<void> {
    const { pool, options, log } = this.#parts;
    const { id, key, isWhole } = segment;
    // nothing names it by then; a mistake here would lose payloads
    if (await isNamed(pool, segment)) {
      log.error({ segment: id, key }, 'a file that was replaced is still named by runs; it is kept');
      return;
    }
    if (!isWhole) await this.#abortUploads(key);
    await options.store.delete(options.bucket, key);
    await deleteFormer(pool, segment);
  }

  async #abortUploads(key: string): Promise<void> {
    const { options, log } = this.#parts;
    await options.store.abortUploadsOf(options.bucket, key).catch((error: unknown) => {
      const problem = errorText(error);
      log.warn({ key, problem }, 'aborting uploads of a dead worker failed; the store keeps their parts');
    });
  }

  status(tenantId: string, search: LakeDaySearch): Promise<readonly LakeDay[]> {
    return listDays(this.#parts.pool, tenantId, search);
  }
}

async function currentSnapshot(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ seen: string }>('SELECT pg_current_snapshot()::text AS seen');
  const seen = rows[0]?.seen;
  if (seen === undefined) throw new Error('reading the snapshot failed: it returned no row');
  return seen;
}
