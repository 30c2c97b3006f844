import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { errorText } from '#lib/errors';
import { isJsonObject, parseJson } from '#lib/json';
import { parseInstant } from '#lib/time';
import { DEFAULT_MEMBERS, type ModelPrice, parsePrice, type PriceDetails } from './model-price.js';
import lists from './model-prices.json' with { type: 'json' };
import { tryPattern } from './price-book.js';

/** Members of a list that each of its models may state anew. */
const SHARED = ['prefix', 'suffix', 'input_factors', 'sources', 'read_on'];
const OWN = [
  'name',
  'pattern',
  'from',
  'max_prompt_tokens',
  'input',
  'output',
  'input_details',
  'output_details',
];

/** The same in every release and on every platform: rows of workspaces name it. */
function idOf(name: string, from = '', maxPromptTokens?: number): string {
  const upTo = maxPromptTokens === undefined ? '' : ` ${maxPromptTokens}`;
  const hash = createHash('sha256').update(`model price ${name} ${from}${upTo}`).digest('hex');
  // version 8: made by a rule of our own
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`];
  return [...parts, hash.slice(20, 32)].join('-');
}

/** One model of a file of prices, with the members that its list has for all. */
class ListedModel {
  constructor(
    private readonly members: Readonly<Record<string, unknown>>,
    private readonly place: string,
  ) {}

  wrong(name: string, expected: string): Error {
    return new Error(
      `${this.place}.${name} should be ${expected}, but is ${JSON.stringify(this.members[name])}`,
    );
  }

  text(name: string, isGood = (text: string): boolean => text !== ''): string | undefined {
    const value = this.members[name];
    if (value === undefined || (typeof value === 'string' && isGood(value))) return value;
    throw this.wrong(name, 'a text');
  }

  /** Dollars for a million as those for one. */
  price(name: string, value = this.members[name]): string {
    const price = typeof value === 'number' ? parsePrice(`${value}e-6`) : undefined;
    if (price === undefined) throw this.wrong(name, 'dollars for a million tokens, a number from 0 on');
    return price;
  }

  /** Prices by kind of tokens; factors of the input price are computed. */
  details(name: string, factors: unknown = {}): PriceDetails | undefined {
    const given = this.members[name] ?? {};
    if (!isJsonObject(given) || !isJsonObject(factors))
      throw this.wrong(name, 'an object of numbers by kind');
    const input = Number(this.members['input']);
    const computed = Object.entries(factors).map(([kind, factor]) => [kind, input * Number(factor)] as const);
    const all = Object.entries({ ...Object.fromEntries(computed), ...given });
    if (all.length === 0) return undefined;
    return Object.fromEntries(all.map(([kind, value]) => [kind, this.price(name, value)]));
  }

  sources(): readonly string[] {
    const value = this.members['sources'] ?? [];
    if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
    throw this.wrong('sources', 'a list of texts');
  }

  build(): ModelPrice {
    const unknown = Object.keys(this.members).find((name) => !SHARED.includes(name) && !OWN.includes(name));
    if (unknown !== undefined)
      throw new Error(`${this.place}.${unknown} is no member; known are ${OWN.join(', ')}`);
    const name = this.text('name') ?? '';
    if (name === '') throw this.wrong('name', 'a text');
    const isTime = (text: string): boolean => parseInstant(text, { zone: 'optional' }) !== undefined;
    const from = this.text('from', isTime);
    const pattern = this.text('pattern');
    const upTo = this.members['max_prompt_tokens'];
    if (upTo !== undefined && !Number.isSafeInteger(upTo))
      throw this.wrong('max_prompt_tokens', 'a whole number');
    const [prefix, suffix] = [this.text('prefix', () => true) ?? '', this.text('suffix', () => true) ?? ''];
    return Object.freeze({
      id: idOf(name, from, upTo as number | undefined),
      name,
      matchPattern: `^${prefix}${pattern ?? name.replaceAll('.', '[.-]')}${suffix}$`,
      matchPath: DEFAULT_MEMBERS,
      // models are sold under the same names by several
      provider: undefined,
      startTime: from === undefined ? undefined : parseInstant(from, { zone: 'optional' }),
      promptCost: this.price('input'),
      completionCost: this.price('output'),
      promptCostDetails: this.details('input_details', this.members['input_factors']),
      completionCostDetails: this.details('output_details'),
      maxPromptTokens: upTo as number | undefined,
      literal: pattern === undefined ? name.split('.')[0] : undefined,
      isBuiltIn: true,
      isOwn: false,
      isDisabled: false,
      sources: this.sources(),
      readOn: this.text('read_on', (text) => /^\d{4}-\d\d-\d\d$/.test(text)),
      createdAt: undefined,
      updatedAt: undefined,
    });
  }
}

function listIn(value: unknown, name: string, place: string): readonly Readonly<Record<string, unknown>>[] {
  const list = isJsonObject(value) ? value[name] : undefined;
  if (Array.isArray(list) && list.every(isJsonObject)) return list;
  throw new Error(`${place}${name} should be a list of objects`);
}

/**
 * The rows of a file such as `model-prices.json`, in its order.
 * @throws Error with the place of the problem
 */
export function parsePriceLists(file: unknown): readonly ModelPrice[] {
  const prices = listIn(file, 'lists', '').flatMap((list, at) =>
    listIn(list, 'models', `lists.${at}.`).map((model, of) => {
      const { models: _models, ...shared } = list;
      return new ListedModel({ ...shared, ...model }, `lists.${at}.models.${of}`).build();
    }),
  );
  const ids = new Map(prices.map((price) => [price.id, price]));
  const twice = prices.find((price) => ids.get(price.id) !== price);
  if (twice) throw new Error(`${twice.name} is listed twice with the same start and tokens`);
  return Object.freeze(prices);
}

/** Prices that replace those of the platform. @throws Error with the problem of the file */
export async function readModelPrices(path: string): Promise<readonly ModelPrice[]> {
  try {
    const prices = parsePriceLists(parseJson(await readFile(path, 'utf8')));
    for (const { name, matchPattern } of prices) {
      const problem = await tryPattern(matchPattern);
      if (typeof problem === 'string')
        throw new Error(`the pattern ${matchPattern} of ${name} cannot be used: ${problem}`);
    }
    return prices;
  } catch (error) {
    throw new Error(`the prices of models in ${path} cannot be used: ${errorText(error)}`, { cause: error });
  }
}

/** List prices that the platform brings, in the order of their file. */
export const BUILT_IN_PRICES = parsePriceLists(lists);
