// Checks test/quarantine.json, the tests that `npm test` leaves out because they fail now and then: a few at most, each
// with its reason, and none for longer than two weeks. `npm run test:long` runs them.
import { existsSync, readFileSync } from 'node:fs';
import { MAX_ENTRIES, MAX_DAYS, readQuarantine } from './tests/quarantine.mjs';

const DAY_MS = 86_400_000;
const problems = [];
const entries = readQuarantine();
if (entries.length > MAX_ENTRIES)
  problems.push(`${entries.length} tests are quarantined; at most ${MAX_ENTRIES} may be`);
for (const { file, test, reason, since } of entries) {
  const name = `${file}: ${test}`;
  const days = Math.floor((Date.now() - Date.parse(since)) / DAY_MS);
  if (!existsSync(file)) problems.push(`${name}: the file does not exist`);
  else if (!readFileSync(file, 'utf8').includes(test.split(' › ').at(-1)))
    problems.push(`${name}: the file has no such test`);
  if (!reason) problems.push(`${name}: give the reason`);
  if (!(days <= MAX_DAYS))
    problems.push(`${name}: quarantined since ${since}, for more than ${MAX_DAYS} days; repair or remove it`);
}
for (const problem of problems) console.error(problem);
console.log(`${entries.length} quarantined tests`);
process.exit(problems.length > 0 ? 1 : 0);
