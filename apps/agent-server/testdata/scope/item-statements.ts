import {
  countItems,
  getItem,
  listItems,
  listNamespaces,
  refreshItems,
  removeItem,
  removeItems,
  searchItems,
  listEmbeddedItems,
  readVectors,
} from '../../src/store/statement/items.js';
import { type CallerStatements, PAGE } from './caller-statement.js';

/** Statements about items. */
export const ITEM_STATEMENTS: CallerStatements = {
  getItem: { ask: (scope, { item }, store) => getItem(scope, store.sql, item, true), absent: undefined },
  removeItem: { ask: (scope, { item }, store) => removeItem(scope, store.sql, item), absent: false },
  removeItems: {
    ask: (scope, { item }, store) => removeItems(scope, store.sql, item.namespace, 5),
    absent: 0,
  },
  countItems: { ask: (scope, { item }, store) => countItems(scope, store.sql, item.namespace), absent: 0 },
  searchItems: {
    ask: (scope, { item }, store) =>
      searchItems(scope, store.sql, { prefix: item.namespace, filter: undefined }, PAGE),
    absent: [],
  },
  listItems: { ask: (scope, { itemId }, store) => listItems(scope, store.sql, [itemId]), absent: [] },
  listEmbeddedItems: {
    ask: (scope, { item }, store) =>
      listEmbeddedItems(
        ...([
          scope,
          store.sql,
          { prefix: item.namespace, filter: undefined },
          { dims: 2, limit: 5 },
        ] as const),
      ),
    absent: [],
  },
  readVectors: {
    ask: (scope, { itemId }, store) => readVectors(scope, store.sql, [itemId], 2),
    absent: [],
  },
  refreshItems: {
    ask: (scope, { itemId }, store) => refreshItems(scope, store.sql, [itemId]),
    absent: undefined,
  },
  listNamespaces: {
    ask: (scope, { item: { namespace } }, store) =>
      listNamespaces(scope, store.sql, { prefix: namespace, suffix: [], maxDepth: undefined, ...PAGE }),
    absent: [],
  },
};
