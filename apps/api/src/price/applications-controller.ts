import { Body, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { formatInstant, type Instant, MICROS_PER_DAY, parseInstant } from '#lib/time';
import type { PriceApplication, TraceStore, UnmatchedModel } from '#lib/trace-store';
import { FromCaller } from '../tenancy/caller.js';
import { missingProject } from '../trace/missing-run.js';
import { Resource } from '../wire/operation.js';
import { Time, Uuid } from '../wire/fields.js';
import { PathId } from '../wire/query-flag.js';
import { Get, Post } from '../wire/route.js';
import { READ, WORKSPACE } from '../wire/route-access.js';
import { Answered, orNull, TEXT, TIME, UUID, WHOLE, words } from '../wire/shape.js';

/** Stored runs that are priced again, and how far that came. */
class PriceApplicationAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly session_id: string;
  @Answered(orNull(TIME), 'Runs that began then or later') readonly start_time: string | null;
  @Answered(orNull(TIME), 'Runs that began before') readonly end_time: string | null;
  @Answered(words(['pending', 'completed'])) readonly status: 'pending' | 'completed';
  @Answered(orNull(TIME), 'Runs up to this start were looked at') readonly reached_time: string | null;
  @Answered(WHOLE, 'Calls of models without costs of their senders') readonly runs_looked_at: number;
  @Answered(WHOLE) readonly runs_changed: number;
  @Answered(WHOLE, 'Those that no price meets') readonly runs_without_price: number;
  @Answered(TIME) readonly requested_at: string;
  @Answered(orNull(TIME)) readonly completed_at: string | null;
  @Answered(orNull(TEXT), 'Why the last attempt failed; it is repeated') readonly problem: string | null;
}

/** A model whose runs have tokens and no cost. */
class UnmatchedModelAnswer {
  @Answered(orNull(TEXT), 'Null: the senders named none') readonly model: string | null;
  @Answered(orNull(TEXT)) readonly provider: string | null;
  @Answered(WHOLE) readonly runs: number;
  @Answered(WHOLE) readonly total_tokens: number;
  @Answered(TIME) readonly first_start_time: string;
  @Answered(TIME) readonly last_start_time: string;
}

function time(instant: Instant | undefined): string | null {
  return instant === undefined ? null : formatInstant(instant);
}

function renderApplication(one: PriceApplication): PriceApplicationAnswer {
  return {
    id: one.id,
    session_id: one.projectId,
    start_time: time(one.from),
    end_time: time(one.to),
    status: one.completedAt === undefined ? 'pending' : 'completed',
    reached_time: time(one.reachedTime),
    runs_looked_at: one.lookedAt,
    runs_changed: one.changed,
    runs_without_price: one.withoutPrice,
    requested_at: formatInstant(one.requestedAt),
    completed_at: time(one.completedAt),
    problem: one.problem ?? null,
  };
}

function renderUnmatched(one: UnmatchedModel): UnmatchedModelAnswer {
  return {
    model: one.model ?? null,
    provider: one.provider ?? null,
    runs: one.runs,
    total_tokens: one.totalTokens,
    first_start_time: formatInstant(one.firstStartTime),
    last_start_time: formatInstant(one.lastStartTime),
  };
}

/** Body of `POST /model-price-map/apply`. */
class ApplyPricesRequest {
  @Uuid({ required: true, about: 'The tracing project' })
  session_id: string;

  @Time({ about: 'Runs that began then or later; from the first when absent' })
  start_time?: string | null;

  @Time({ about: 'Runs that began before; up to now when absent' })
  end_time?: string | null;
}

/** Query of `GET /model-price-map/unmatched`. */
class UnmatchedQuery {
  @Uuid({ about: 'The tracing project; all when absent' })
  session_id?: string;

  @Time({ about: 'Runs that began then or later; the last 24 hours when absent' })
  start_time?: string;

  @Time({ about: 'Runs that began before; up to now when absent' })
  end_time?: string;
}

/** Prices of stored runs, as requests ask for them. */
export class PriceApplications {
  constructor(private readonly store: Pick<TraceStore, 'priceApplications' | 'projects' | 'databaseTime'>) {}

  /** @throws PublicError not_found (the project), too_many */
  async apply(tenantId: string, body: ApplyPricesRequest): Promise<PriceApplication> {
    const projectId = await this.#project(tenantId, body.session_id);
    const { start_time: from, end_time: to } = body;
    return this.store.priceApplications.apply(tenantId, { projectId, from: instant(from), to: instant(to) });
  }

  list(tenantId: string): Promise<readonly PriceApplication[]> {
    return this.store.priceApplications.list(tenantId);
  }

  /** @throws PublicError not_found */
  async get(tenantId: string, id: string): Promise<PriceApplication> {
    const found = await this.store.priceApplications.find(tenantId, id);
    if (!found) throw new PublicError('not_found', `Application of prices with ID ${id} not found`);
    return found;
  }

  /** @throws PublicError not_found (the project), bad_request when it takes too long */
  async unmatched(tenantId: string, query: UnmatchedQuery): Promise<readonly UnmatchedModel[]> {
    const { session_id: session } = query;
    const projectIds = session
      ? [await this.#project(tenantId, session)]
      : (await this.store.projects.list(tenantId, {})).map(({ id }) => id);
    const to = instant(query.end_time) ?? BigInt((await this.store.databaseTime()).getTime()) * 1_000n;
    const from = instant(query.start_time) ?? to - MICROS_PER_DAY;
    return this.store.priceApplications.unmatched(tenantId, { projectIds, from, to });
  }

  async #project(tenantId: string, given: string): Promise<string> {
    const id = given.toLowerCase();
    if (await this.store.projects.find(tenantId, { id })) return id;
    throw await missingProject(this.store, tenantId, id);
  }
}

function instant(text: string | null | undefined): Instant | undefined {
  return text ? parseInstant(text, { zone: 'optional' }) : undefined;
}

/** Stored runs and the price table. */
@Resource('Prices', ['model-price-map', 'api/v1/model-price-map'])
export class PriceApplicationsController {
  constructor(private readonly applications: PriceApplications) {}

  @Get('unmatched', READ, {
    summary: 'Models whose runs have tokens and no cost, those with most runs first',
    answer: [UnmatchedModelAnswer],
    refuses: { 400: 'Counting them takes too long', 404: 'The tracing project does not exist' },
  })
  async unmatched(
    @FromCaller() { tenantId }: Caller,
    @Query() query: UnmatchedQuery,
  ): Promise<UnmatchedModelAnswer[]> {
    return (await this.applications.unmatched(tenantId, query)).map(renderUnmatched);
  }

  @Post('apply', WORKSPACE, {
    summary: 'Prices runs of a project again, in the background, but those whose senders gave a cost',
    status: 202,
    answer: PriceApplicationAnswer,
    refuses: { 404: 'The tracing project does not exist' },
  })
  async apply(
    @FromCaller() { tenantId }: Caller,
    @Body() body: ApplyPricesRequest,
  ): Promise<PriceApplicationAnswer> {
    return renderApplication(await this.applications.apply(tenantId, body));
  }

  @Get('apply', READ, { summary: 'What was priced again, newest first', answer: [PriceApplicationAnswer] })
  async list(@FromCaller() { tenantId }: Caller): Promise<PriceApplicationAnswer[]> {
    return (await this.applications.list(tenantId)).map(renderApplication);
  }

  @Get('apply/:application_id', READ, {
    summary: 'How far pricing again came',
    answer: PriceApplicationAnswer,
  })
  async get(
    @FromCaller() { tenantId }: Caller,
    @PathId('application_id') id: string,
  ): Promise<PriceApplicationAnswer> {
    return renderApplication(await this.applications.get(tenantId, id));
  }
}
