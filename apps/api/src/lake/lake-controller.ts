import { Controller, Inject, Query } from '@nestjs/common';
import { Type } from 'class-transformer';
import type { Caller } from '#lib/auth';
import { isUuid } from '#lib/resources';
import { parseInstant } from '#lib/time';
import {
  type LakeConfig,
  type LakeDay,
  type LakeDaySearch,
  type LakeTable,
  type TraceStore,
  whyNotSealing,
} from '#lib/trace-store';
import { API_CONFIG, TRACE_STORE } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Text, Uuid, Whole } from '../wire/fields.js';
import { Described } from '../wire/operation.js';
import { invalid } from '../wire/request-pipe.js';
import { Get } from '../wire/route.js';
import { WORKSPACE } from '../wire/route-access.js';
import { Answered, FLAG, listOf, orNull, TEXT, TIME, UUID, WHOLE } from '../wire/shape.js';

/** Query of `GET /lake`. */
class LakeQuery {
  @Uuid({ about: 'Of one tracing project; absent: of all' })
  session_id?: string;

  @Whole({ min: 1, max: 100, fallback: 20, about: 'Most days to answer' })
  @Type(() => Number)
  limit: number = 20;

  @Text({ maxLength: 100, about: 'next_cursor of the page before' })
  cursor?: string;
}

class LakeDayAnswer {
  @Answered(UUID, 'Tracing project') readonly session_id: string;
  @Answered(TEXT, 'UTC, YYYY-MM-DD') readonly day: string;
  @Answered(WHOLE, 'Runs whose payloads are in Postgres, when they were counted last')
  readonly postgres_rows: number;
  @Answered(WHOLE, 'Bytes of these payloads: an estimate by the size of their partition')
  readonly postgres_bytes_estimate: number;
  @Answered(WHOLE, 'Runs in the files in force') readonly sealed_rows: number;
  @Answered(WHOLE, 'Bytes of these files') readonly sealed_bytes: number;
  @Answered(WHOLE, 'Number of times that the day was sealed; 0: not yet') readonly generation: number;
  @Answered(WHOLE, 'Runs in the files that are deleted or changed since') readonly gone_rows: number;
  @Answered(FLAG, 'Whether a worker is at it') readonly sealing: boolean;
  @Answered(orNull(TIME)) readonly sealed_at: string | null;
  @Answered(orNull(TIME), 'When the bytes of deleted runs will have left the files')
  readonly erase_before: string | null;
  @Answered(WHOLE, 'Failed attempts since the last success') readonly failed_attempts: number;
  @Answered(orNull(TEXT), 'Why the last attempt failed') readonly error: string | null;
  @Answered(orNull(TIME), 'When the next attempt may begin') readonly next_attempt_at: string | null;
}

class LakeTableAnswer {
  @Answered(UUID, 'Tracing project, whose sealed days are one table of Apache Iceberg')
  readonly session_id: string;
  @Answered(WHOLE, 'Version that readers are given; 0: none yet') readonly version: number;
  @Answered(orNull(TIME)) readonly published_at: string | null;
  @Answered(orNull(TIME), 'Since when it does not show all sealed days; null: it does')
  readonly behind_since: string | null;
  @Answered(WHOLE, 'Failed attempts since the last success') readonly failed_attempts: number;
  @Answered(orNull(TEXT), 'Why the last attempt failed') readonly error: string | null;
  @Answered(orNull(TIME), 'When the next attempt may begin') readonly next_attempt_at: string | null;
}

/** Days of a workspace that are sealed, or will be. */
class LakeAnswer {
  @Answered(FLAG, 'Whether days are sealed') readonly enabled: boolean;
  @Answered(orNull(TEXT), 'Why they are not') readonly reason: string | null;
  @Answered(listOf(() => LakeDayAnswer), 'Last days first') readonly days: readonly LakeDayAnswer[];
  @Answered(listOf(() => LakeTableAnswer), 'Tables of the projects of these days')
  readonly tables: readonly LakeTableAnswer[];
  @Answered(orNull(TEXT), 'cursor of the next page; null when there is none')
  readonly next_cursor: string | null;
}

/** `DAY/PROJECT`. */
const CURSOR = /^(\d{4}-\d{2}-\d{2})\/([^/]+)$/;

function parseCursor(text: string | undefined): LakeDaySearch['after'] {
  if (text === undefined) return undefined;
  const [, day = '', projectId = ''] = CURSOR.exec(text) ?? [];
  const isDay = parseInstant(`${day}T00:00:00Z`, { zone: 'required' }) !== undefined;
  if (isDay && isUuid(projectId)) return { day, projectId };
  const msg = 'invalid cursor; omit it to start at the first page';
  throw invalid([{ loc: ['query', 'cursor'], msg, type: 'value_error' }]);
}

function time(value: Date | null | undefined): string | null {
  return value?.toISOString() ?? null;
}

function renderDay(day: LakeDay, postgresBytes: number | undefined): LakeDayAnswer {
  return {
    session_id: day.projectId,
    day: day.day,
    postgres_rows: day.looseRows,
    postgres_bytes_estimate: postgresBytes ?? 0,
    sealed_rows: day.sealedRows,
    sealed_bytes: day.sealedBytes,
    generation: day.generation,
    gone_rows: day.goneRows,
    sealing: day.isSealing,
    sealed_at: time(day.sealedAt),
    erase_before: time(day.eraseBefore),
    failed_attempts: day.attempts,
    error: day.error ?? null,
    next_attempt_at: time(day.nextAt),
  };
}

function renderTable(table: LakeTable): LakeTableAnswer {
  return {
    session_id: table.projectId,
    version: table.version,
    published_at: time(table.publishedAt),
    behind_since: time(table.behindSince),
    failed_attempts: table.attempts,
    error: table.error,
    next_attempt_at: time(table.nextAt),
  };
}

/** Days whose payloads are in the object store instead of Postgres. */
@Described(({ ApiTags }) => ApiTags('Runs'))
@Controller('api/v1/lake')
export class LakeController {
  constructor(
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'lake' | 'estimatePostgres'>,
    @Inject(API_CONFIG) private readonly config: Pick<LakeConfig, 'lake' | 'attachmentBucket'>,
  ) {}

  @Get('', WORKSPACE, {
    summary: 'Days of the workspace that are sealed into the object store, or will be: a page of them',
    answer: LakeAnswer,
  })
  async list(
    @FromCaller() { tenantId }: Caller,
    @Query() { session_id: projectId, limit, cursor }: LakeQuery,
  ): Promise<LakeAnswer> {
    const after = parseCursor(cursor);
    const why = whyNotSealing(this.config);
    const found = (await this.store.lake?.status(tenantId, { projectId, limit: limit + 1, after })) ?? [];
    const days = found.slice(0, limit);
    const bytes = days.length === 0 ? [] : await this.store.estimatePostgres(tenantId, days);
    const projects = [...new Set(days.map((day) => day.projectId))];
    const tables = (await this.store.lake?.tables(tenantId, projects)) ?? [];
    const last = found.length > limit ? days.at(-1) : undefined;
    return {
      enabled: why === undefined,
      reason: why ?? null,
      days: days.map((day, at) => renderDay(day, bytes[at])),
      tables: tables.map(renderTable),
      next_cursor: last ? `${last.day}/${last.projectId}` : null,
    };
  }
}
