import { countItems } from '../../src/store/item/count-items.js';
import { getItem } from '../../src/store/item/get-item.js';
import { listEmbeddedItems } from '../../src/store/item/list-embedded-items.js';
import { listItems } from '../../src/store/item/list-items.js';
import { listNamespaces } from '../../src/store/item/list-namespaces.js';
import { readVectors } from '../../src/store/item/read-vectors.js';
import { refreshItems } from '../../src/store/item/refresh-items.js';
import { removeItem } from '../../src/store/item/remove-item.js';
import { removeItems } from '../../src/store/item/remove-items.js';
import { searchItems } from '../../src/store/item/search-items.js';
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
