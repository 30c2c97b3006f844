// count-tests.mjs FOLDER: prints "PASSED FAILED" of the Jest reports in it. A file that ran again counts once, by its
// last run; one that failed outside its tests (it did not load, a hook failed) counts as one failure more.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder] = process.argv.slice(2);
const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
names.sort((a, b) => Number(a.endsWith('-again.json')) - Number(b.endsWith('-again.json')));
const files = new Map();
for (const name of names)
  for (const file of JSON.parse(readFileSync(join(folder, name), 'utf8')).testResults)
    files.set(file.name, file);

let passed = 0;
let failed = 0;
for (const file of files.values()) {
  const ended = (status) => file.assertionResults.filter((test) => test.status === status).length;
  passed += ended('passed');
  failed += ended('failed');
  if (file.status === 'failed' && ended('failed') === 0) failed += 1;
}
console.log(passed, failed);
