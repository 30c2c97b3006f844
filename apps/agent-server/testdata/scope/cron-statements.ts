import {
  changeCron,
  countCrons,
  findCron,
  removeCron,
  removeCrons,
  searchCrons,
} from '../../src/store/statement/crons.js';
import { cronWith } from '../owned-rows.js';
import { type CallerStatements, PAGE } from './caller-statement.js';

/** Statements about crons. */
export const CRON_STATEMENTS: CallerStatements = {
  findCron: { ask: (scope, { cronId }, store) => findCron(scope, store.sql, cronId), absent: undefined },
  searchCrons: {
    ask: (scope, { assistantId }, store) =>
      searchCrons(scope, store.sql, { assistantId }, { ...PAGE, sortBy: 'created_at', isAscending: true }),
    absent: [],
  },
  countCrons: {
    ask: (scope, { assistantId }, store) =>
      countCrons(scope, store.sql, { metadata: { marked: assistantId } }),
    absent: 0,
  },
  changeCron: {
    ask: (scope, { cronId }, store) => changeCron(scope, store.sql, cronId, cronWith({ owner: 'alice' })),
    absent: 'not_found',
  },
  removeCron: { ask: (scope, { cronId }, store) => removeCron(scope, store.sql, cronId), absent: false },
  removeCrons: {
    ask: (scope, { assistantId }, store) => removeCrons(scope, store.sql, { marked: assistantId }),
    absent: 0,
  },
};
