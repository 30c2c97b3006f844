// count-tests.mjs FOLDER: prints "PASSED FAILED" of the Jest report tests.json in it. A file that failed outside of its
// tests (it did not load, a hook failed) counts as one failure more.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder] = process.argv.slice(2);
let passed = 0;
let failed = 0;
for (const file of JSON.parse(readFileSync(join(folder, 'tests.json'), 'utf8')).testResults) {
  const ended = (status) => file.assertionResults.filter((test) => test.status === status).length;
  passed += ended('passed');
  failed += ended('failed');
  if (file.status === 'failed' && ended('failed') === 0) failed += 1;
}
console.log(passed, failed);
