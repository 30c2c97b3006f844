import { randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { parseJson } from '#lib/json';
import { inTransaction, type Connection, type Pool, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, type Instant, parseInstant } from '#lib/time';
import { type ModelPrice, type NewModelPrice, PRICE_LIMITS, type PriceDetails } from './model-price.js';
import { tryPattern } from './price-book.js';

/** Any number that no other lock of this database begins with. */
const LOCK = 7_214_021;

/** Rows without `isBuiltIn`: whether the platform has a row of their ids is not stored. */
type OwnPrices = readonly Omit<ModelPrice, 'isBuiltIn'>[];

type Row = Readonly<Record<string, string | null>> & { readonly match_path: readonly string[] };

const COLUMNS = `id, name, match_pattern, match_path, provider, start_time, prompt_cost, completion_cost,
  prompt_cost_details, completion_cost_details, is_disabled, created_at, updated_at`;

function time(text: string | null | undefined): Instant | undefined {
  return text ? parseInstant(text, { zone: 'optional' }) : undefined;
}

function details(text: string | null | undefined): PriceDetails | undefined {
  return text ? (parseJson(text) as PriceDetails) : undefined;
}

function parse(row: Row): OwnPrices[number] {
  const id = row['id'] ?? '';
  return {
    id,
    name: row['name'] ?? '',
    matchPattern: row['match_pattern'] ?? '',
    matchPath: row.match_path,
    provider: row['provider'] ?? undefined,
    startTime: time(row['start_time']),
    promptCost: row['prompt_cost'] ?? '0',
    completionCost: row['completion_cost'] ?? '0',
    promptCostDetails: details(row['prompt_cost_details']),
    completionCostDetails: details(row['completion_cost_details']),
    maxPromptTokens: undefined,
    literal: undefined,
    isOwn: true,
    isDisabled: row['is_disabled'] === 't',
    sources: [],
    readOn: undefined,
    createdAt: time(row['created_at']),
    updatedAt: time(row['updated_at']),
  };
}

/** Own rows of a tenant, newest first. */
async function ownPrices(db: Queryable, tenantId: string): Promise<OwnPrices> {
  const { rows } = await db.query<Row>({
    text: `SELECT ${COLUMNS} FROM model_prices WHERE tenant_id = $1 ORDER BY created_at DESC, id`,
    values: [tenantId],
    types: textTypes,
  });
  return rows.map(parse);
}

/** Every row that counts for a tenant: its own, and those of the platform that it has no version of. */
export async function pricesOf(
  db: Queryable,
  tenantId: string,
  shipped: readonly ModelPrice[],
): Promise<readonly ModelPrice[]> {
  const own = await ownPrices(db, tenantId);
  const [replaced, ids] = [new Set(own.map(({ id }) => id)), new Set(shipped.map(({ id }) => id))];
  return [
    ...own.map((price) => ({ ...price, isBuiltIn: ids.has(price.id) })),
    ...shipped.filter(({ id }) => !replaced.has(id)),
  ];
}

/**
 * Prices of models, of one tenant at a time.
 * The table `model_prices`. It has no rows of the platform, except for the versions that workspaces made of
 * them.
 */
export class PriceTable {
  readonly #shipped: ReadonlyMap<string, ModelPrice>;

  /** @param changed called with the tenant after its prices may be others */
  constructor(
    private readonly pool: Pool,
    shipped: readonly ModelPrice[],
    private readonly changed: (tenantId: string) => void,
  ) {
    this.#shipped = new Map(shipped.map((price) => [price.id, price]));
  }

  /** Own rows, newest first, then those of the platform. */
  list(tenantId: string): Promise<readonly ModelPrice[]> {
    return pricesOf(this.pool, tenantId, [...this.#shipped.values()]);
  }

  /** @throws PublicError conflict when an equal row exists or there are too many, invalid (the pattern) */
  create(tenantId: string, price: NewModelPrice): Promise<ModelPrice> {
    return this.#write(tenantId, price, () => randomUUID());
  }

  /**
   * Replaces the own price of this name, provider and start, or adds it.
   * @throws PublicError conflict if several have them or there are too many, invalid (the pattern)
   */
  put(tenantId: string, price: NewModelPrice): Promise<ModelPrice> {
    return this.#write(tenantId, price, (own) => {
      const named = own.filter((one) => isNamed(one, price));
      if (named.length > 1)
        throw new PublicError(
          'conflict',
          `${named.length} prices are named ${price.name} with this provider and start time: replace one by its id (${named.map(({ id }) => id).join(', ')})`,
        );
      return named[0]?.id ?? randomUUID();
    });
  }

  /**
   * Replaces a row; for one of the platform the workspace then has its own version.
   * @returns undefined when it does not exist
   * @throws PublicError conflict, invalid (the pattern)
   */
  async replace(tenantId: string, id: string, price: NewModelPrice): Promise<ModelPrice | undefined> {
    return this.#write(tenantId, price, (own) =>
      this.#shipped.has(id) || own.some((one) => one.id === id) ? id : undefined,
    );
  }

  /**
   * Enables or disables a row; an enabled one of the platform is as it was shipped.
   * @returns undefined when it does not exist
   */
  async setDisabled(tenantId: string, id: string, isDisabled: boolean): Promise<ModelPrice | undefined> {
    const found = (await this.list(tenantId)).find((one) => one.id === id);
    if (!found || found.isDisabled === isDisabled) return found;
    if (found.isBuiltIn && !isDisabled) {
      await this.#delete(tenantId, id);
      return this.#shipped.get(id);
    }
    await this.#locked(tenantId, (db) => store(db, tenantId, found, isDisabled));
    return { ...found, isOwn: true, isDisabled };
  }

  /** Deletes a row; one of the platform is disabled instead. @returns undefined when it does not exist */
  async remove(tenantId: string, id: string): Promise<'deleted' | 'disabled' | undefined> {
    if (this.#shipped.has(id)) return (await this.setDisabled(tenantId, id, true)) && 'disabled';
    return (await this.#delete(tenantId, id)) ? 'deleted' : undefined;
  }

  /** @param choose the id under which it is stored, by the own rows; undefined: nothing is stored */
  async #write<Id extends string | undefined>(
    tenantId: string,
    price: NewModelPrice,
    choose: (own: OwnPrices) => Id,
  ): Promise<ModelPrice | (undefined extends Id ? undefined : never)> {
    // before the pattern is compiled, which costs more
    const before = await ownPrices(this.pool, tenantId);
    const asked = choose(before);
    if (asked !== undefined) refuse(before, asked, price);
    const problem = await tryPattern(price.matchPattern);
    if (typeof problem === 'string')
      throw new PublicError('invalid', `match_pattern cannot be used: ${problem}`, [
        { loc: ['body', 'match_pattern'], msg: `Pattern cannot be used: ${problem}`, type: 'pattern' },
      ]);
    const id = await this.#locked(tenantId, async (db) => {
      const own = await ownPrices(db, tenantId);
      const chosen = choose(own);
      if (chosen === undefined) return undefined;
      refuse(own, chosen, price);
      await store(db, tenantId, { ...price, id: chosen }, false);
      return chosen;
    });
    const stored = id && (await this.list(tenantId)).find((one) => one.id === id);
    return stored as ModelPrice | (undefined extends Id ? undefined : never);
  }

  async #delete(tenantId: string, id: string): Promise<boolean> {
    const { rowCount } = await this.pool.query('DELETE FROM model_prices WHERE tenant_id = $1 AND id = $2', [
      tenantId,
      id,
    ]);
    this.changed(tenantId);
    return rowCount === 1;
  }

  /** Serialises writes to the rows of one tenant, so that the counts stay true. */
  async #locked<T>(tenantId: string, work: (db: Connection) => Promise<T>): Promise<T> {
    const result = await inTransaction(this.pool, async (db) => {
      await db.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCK, tenantId]);
      return work(db);
    });
    this.changed(tenantId);
    return result;
  }
}

export type ModelPrices = Pick<PriceTable, keyof PriceTable>;

function isNamed(one: NewModelPrice, { name, provider, startTime }: NewModelPrice): boolean {
  return one.name === name && one.provider === provider && one.startTime === startTime;
}

/** @throws PublicError conflict */
function refuse(own: OwnPrices, id: string, price: NewModelPrice): void {
  const others = own.filter((one) => one.id !== id);
  const equal = others.find(
    (one) =>
      isNamed(one, price) &&
      one.matchPattern === price.matchPattern &&
      one.matchPath.join('\0') === price.matchPath.join('\0'),
  );
  if (equal)
    throw new PublicError(
      'conflict',
      `a price named ${price.name} with this pattern, match path, provider and start time exists: replace it by its id ${equal.id}`,
    );
  if (others.length === own.length && own.length >= PRICE_LIMITS.count)
    throw new PublicError(
      'conflict',
      `the workspace has ${own.length} prices of its own, the most that it may: delete one`,
    );
}

async function store(
  db: Connection,
  tenantId: string,
  price: NewModelPrice & { readonly id: string },
  isDisabled: boolean,
): Promise<void> {
  const json = (value: PriceDetails | undefined): string | null => (value ? JSON.stringify(value) : null);
  await db.query(
    `INSERT INTO model_prices AS p (tenant_id, id, name, match_pattern, match_path, provider, start_time, prompt_cost,
      completion_cost, prompt_cost_details, completion_cost_details, is_disabled)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
    ON CONFLICT (tenant_id, id) DO UPDATE SET name = $3, match_pattern = $4, match_path = $5, provider = $6,
      start_time = $7, prompt_cost = $8, completion_cost = $9, prompt_cost_details = $10, completion_cost_details = $11,
      is_disabled = $12, updated_at = clock_timestamp()`,
    [
      tenantId,
      price.id,
      price.name,
      price.matchPattern,
      price.matchPath,
      price.provider ?? null,
      price.startTime === undefined ? null : formatInstant(price.startTime),
      price.promptCost,
      price.completionCost,
      json(price.promptCostDetails),
      json(price.completionCostDetails),
      isDisabled,
    ],
  );
}
