import lists from './model-prices.json' with { type: 'json' };
import { parsePriceLists } from './price-lists.js';

/** List prices that the platform brings, in the order of their file. */
export const BUILT_IN_PRICES = parsePriceLists(lists);
