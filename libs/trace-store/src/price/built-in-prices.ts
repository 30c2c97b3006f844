import { createHash } from 'node:crypto';
import { parsePrice } from './decimal.js';
import { BUILT_IN_ROWS, type BuiltInRow } from './built-in-rows.js';
import { DEFAULT_MEMBERS, type ModelPrice, type PriceDetails } from './model-price.js';
import { parseInstant } from '#lib/time';

/** The same in every release and on every platform: rows of workspaces name it. */
function idOf({ name, from = '' }: BuiltInRow): string {
  const hash = createHash('sha256').update(`model price ${name} ${from}`).digest('hex');
  // version 8: made by a rule of our own
  return [
    ...[hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`],
    hash.slice(20, 32),
  ].join('-');
}

/** Dollars for a million as those for one. */
function perToken(perMillion: number): string {
  const text = parsePrice(`${perMillion}e-6`);
  if (text === undefined) throw new Error(`${perMillion} dollars for a million tokens is no price`);
  return text;
}

function details(given: Readonly<Record<string, number>> | undefined): PriceDetails | undefined {
  return given && Object.fromEntries(Object.entries(given).map(([kind, price]) => [kind, perToken(price)]));
}

function priceOf(row: BuiltInRow): ModelPrice {
  return Object.freeze({
    id: idOf(row),
    name: row.name,
    matchPattern: row.pattern,
    matchPath: DEFAULT_MEMBERS,
    // models are sold under the same names by several
    provider: undefined,
    startTime: row.from === undefined ? undefined : parseInstant(row.from, { zone: 'optional' }),
    promptCost: perToken(row.input),
    completionCost: perToken(row.output),
    promptCostDetails: details(row.inputDetails),
    completionCostDetails: details(row.outputDetails),
    isBuiltIn: true,
    isOwn: false,
    isDisabled: false,
    sources: row.sources,
    readOn: row.readOn,
    createdAt: undefined,
    updatedAt: undefined,
  });
}

/** What the platform brings, in the order of its rows. */
export const BUILT_IN_PRICES: readonly ModelPrice[] = Object.freeze(BUILT_IN_ROWS.map(priceOf));
