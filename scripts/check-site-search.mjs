// Asks the search of the built site what people ask: the first hit must be the page that answers.
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import MiniSearch from 'minisearch';
import { SEARCH } from '../docs/.vitepress/search.mjs';

/** A question, and the page of its answer, with the section where the page has several. */
const QUESTIONS = [
  ['set a secret', 'docs/secrets-and-keys#set-a-secret'],
  ['change log level', 'docs/operations#read-logs-and-change-the-log-level'],
  ['rotate an API key', 'docs/secrets-and-keys#rotate-an-api-key'],
  ['second workspace', 'docs/workspaces#add-a-second-workspace'],
  ['TLS', 'docs/network'],
  ['upgrade', 'docs/backup#upgrade'],
  ['back up', 'docs/backup'],
  ['restore a backup', 'docs/backup'],
  ['size a machine', 'docs/sizing'],
  ['LangSmith SDK', 'docs/reference/langsmith-compatibility'],
  ['OpenTelemetry', 'docs/otlp'],
  ['filter traces', 'docs/reference/filter-language'],
  ['schedule an export', 'docs/exporting#schedule'],
  ['migrate from LangGraph Platform', 'docs/coming-from'],
  ["delete a user's data", 'docs/keep-and-delete#delete-the-data'],
];

const chunks = resolve(import.meta.dirname, '..', 'dist', 'site', 'assets', 'chunks');
const file = readdirSync(chunks).find((name) => name.startsWith('@localSearchIndex'));
const { default: index } = await import(join(chunks, file));
const search = MiniSearch.loadJSON(index, {
  fields: ['title', 'titles', 'text'],
  storeFields: ['title', 'titles'],
  ...SEARCH.options,
  searchOptions: SEARCH.searchOptions,
});
let wrong = 0;
for (const [question, page] of QUESTIONS) {
  const hits = search.search(question).map(({ id }) => id.replace(/^\//, '').replace('.html', ''));
  if (hits[0]?.startsWith(page)) continue;
  wrong++;
  console.error(`"${question}" finds ${hits.slice(0, 3).join(', ') || 'nothing'} before ${page}`);
}
console.log(`${QUESTIONS.length - wrong} of ${QUESTIONS.length} questions are answered by the first hit`);
if (wrong > 0) process.exitCode = 1;
