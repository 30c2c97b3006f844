import {
  chooseAssistantVersion,
  countAssistants,
  findAssistant,
  listAssistantVersions,
  patchAssistant,
  removeAssistant,
  searchAssistants,
} from '../../src/store/statement/assistants.js';
import { newId } from '../store-fixture.js';
import { type CallerStatements, PAGE } from './caller-statement.js';

/** Statements about assistants. */
export const ASSISTANT_STATEMENTS: CallerStatements = {
  findAssistant: {
    ask: (scope, { assistantId }, store) => findAssistant(scope, store.sql, assistantId),
    absent: undefined,
  },
  searchAssistants: {
    ask: async (scope, { assistantId }, store) => {
      const page = { ...PAGE, sortBy: 'created_at', isAscending: true } as const;
      const found = await searchAssistants(scope, store.sql, {}, page);
      return found.filter((assistant) => assistant.assistant_id === assistantId);
    },
    absent: [],
  },
  countAssistants: {
    ask: (scope, { assistantId }, store) =>
      countAssistants(scope, store.sql, { metadata: { marked: assistantId } }),
    absent: 0,
  },
  patchAssistant: {
    ask: (scope, { assistantId }, store) => patchAssistant(scope, store.sql, assistantId, { name: newId() }),
    absent: 'not_found',
  },
  listAssistantVersions: {
    ask: (scope, { assistantId }, store) =>
      listAssistantVersions(scope, store.sql, assistantId, { ...PAGE, metadata: undefined }),
    absent: [],
  },
  chooseAssistantVersion: {
    ask: (scope, { assistantId }, store) => chooseAssistantVersion(scope, store.sql, assistantId, 1),
    absent: undefined,
  },
  removeAssistant: {
    ask: (scope, { assistantId }, store) => removeAssistant(scope, store.sql, assistantId),
    absent: false,
  },
};
