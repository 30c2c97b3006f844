import { type FieldProblem, PublicError } from '#lib/errors';
import { parseInstant } from '#lib/time';
import {
  DEFAULT_MEMBERS,
  type ModelPrice,
  type NewModelPrice,
  parsePrice,
  type PriceDetails,
  type TraceStore,
} from '#lib/trace-store';
import { invalid } from '../wire/request-pipe.js';
import type { PriceRequest, PricesQuery, ReplacePriceRequest } from './price-request.js';
import { wrongField } from '../wire/request-pipe.js';

const NEEDED = ['name', 'match_pattern', 'prompt_cost', 'completion_cost'] as const;

/** Prices of models of a workspace, as requests ask for them. */
export class Prices {
  constructor(private readonly store: Pick<TraceStore, 'prices'>) {}

  /** Prices that contain the text of the query. */
  async list(tenantId: string, { q }: PricesQuery): Promise<readonly ModelPrice[]> {
    const all = await this.store.prices.list(tenantId);
    const wanted = q?.toLowerCase();
    if (!wanted) return all;
    return all.filter(({ name, matchPattern, provider = '' }) =>
      [name, matchPattern, provider].some((text) => text.toLowerCase().includes(wanted)),
    );
  }

  /** @throws PublicError conflict, invalid */
  create(tenantId: string, body: PriceRequest): Promise<ModelPrice> {
    return this.store.prices.create(tenantId, priceOf(body));
  }

  /** @throws PublicError conflict, invalid */
  put(tenantId: string, body: PriceRequest): Promise<ModelPrice> {
    return this.store.prices.put(tenantId, priceOf(body));
  }

  /** @throws PublicError not_found, conflict, invalid */
  async replace(tenantId: string, id: string, body: ReplacePriceRequest): Promise<ModelPrice> {
    const { disabled, ...row } = body;
    const isFlagOnly = typeof disabled === 'boolean';
    if (isFlagOnly && Object.values(row).some((value) => value !== undefined && value !== null))
      throw wrongField(['body', 'disabled'], 'disabled stands alone: send the row in a request of its own');
    const found = isFlagOnly
      ? await this.store.prices.setDisabled(tenantId, id, disabled)
      : await this.store.prices.replace(tenantId, id, priceOf(whole(row)));
    if (!found) throw notFound(id);
    return found;
  }

  /** @throws PublicError not_found */
  async delete(tenantId: string, id: string): Promise<'deleted' | 'disabled'> {
    const outcome = await this.store.prices.remove(tenantId, id);
    if (!outcome) throw notFound(id);
    return outcome;
  }
}

function notFound(id: string): PublicError {
  return new PublicError('not_found', `Model price with ID ${id} not found`);
}

function whole(row: Omit<ReplacePriceRequest, 'disabled'>): PriceRequest {
  const problems: FieldProblem[] = NEEDED.filter((name) => (row[name] ?? undefined) === undefined).map(
    (name) => ({ loc: ['body', name], msg: 'Field required', type: 'missing' }),
  );
  if (problems.length > 0) throw invalid(problems);
  return row as PriceRequest;
}

function details(given: PriceRequest['prompt_cost_details']): PriceDetails | undefined {
  const entries = Object.entries(given ?? {}).map(
    ([kind, price]) => [kind, parsePrice(price) ?? '0'] as const,
  );
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function priceOf(body: PriceRequest): NewModelPrice {
  const { match_path: path, start_time: start } = body;
  return {
    name: body.name,
    matchPattern: body.match_pattern,
    matchPath: path ? [...new Set(path)] : DEFAULT_MEMBERS,
    provider: body.provider ?? undefined,
    startTime: start ? parseInstant(start, { zone: 'optional' }) : undefined,
    promptCost: parsePrice(body.prompt_cost) ?? '0',
    completionCost: parsePrice(body.completion_cost) ?? '0',
    promptCostDetails: details(body.prompt_cost_details),
    completionCostDetails: details(body.completion_cost_details),
  };
}
