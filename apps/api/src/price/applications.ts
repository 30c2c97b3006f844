import { PublicError } from '#lib/errors';
import { MICROS_PER_DAY, parseInstant, type Instant } from '#lib/time';
import type { PriceApplication, TraceStore, UnmatchedModel } from '#lib/trace-store';
import { missingProject } from '../trace/missing-project.js';
import type { ApplyPricesRequest, UnmatchedQuery } from './application-request.js';

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
