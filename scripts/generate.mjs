// npm run generate: writes what follows from other files: the types of the resources, the OpenAPI document and the
// reference, which git ignores. `--check` writes nothing and exits with 1 when a committed file differs from what it should
// be or a page of the reference cannot be made; `--reference` writes the reference alone; `--types` looks after the types
// alone, which needs no build.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { ensureBuilt } from '../bin/ensure-built.js';
import { chartFiles } from './generate/chart.mjs';
import { commandPage } from './generate/command-page.mjs';
import { compatibilityPage } from './generate/compatibility-page.mjs';
import { differencesPage } from './generate/differences-page.mjs';
import { errorsPage } from './generate/errors-page.mjs';
import { eventsPage } from './generate/events-page.mjs';
import { exportFieldLists } from './generate/export-fields.mjs';
import { filterPage } from './generate/filter-page.mjs';
import { metricsPage } from './generate/metrics-page.mjs';
import { openapiDocument } from './generate/openapi-document.mjs';
import { podsPage } from './generate/pods-page.mjs';
import { referencePages } from './generate/reference-pages.mjs';
import { resourceTypes } from './generate/resource-types.mjs';
import { resultPages } from './generate/result-tables.mjs';
import { runbookPage } from './generate/runbook-page.mjs';
import { settingsPage } from './generate/settings-page.mjs';

const root = join(import.meta.dirname, '..');
const isCheck = process.argv.includes('--check');
const onlyTypes = process.argv.includes('--types');
const onlyReference = process.argv.includes('--reference');
const REFERENCE = 'docs/reference/';
/** Pages of the reference that are written by hand. */
const BY_HAND = ['README.md', 'audit-log.md'];
let wrong = 0;

function settle(path, isRight, mend) {
  if (isRight || (path.startsWith(REFERENCE) ? isCheck : onlyReference)) return;
  wrong++;
  if (isCheck) process.stderr.write(`${path} is not up to date: run npm run generate\n`);
  else mend();
}

/** The folder holds exactly these files, and pages that are written by hand. */
function settleFolder({ folder, files }) {
  const there = existsSync(join(root, folder)) ? readdirSync(join(root, folder)) : [];
  for (const name of there.filter((one) => /\.(md|ts)$/.test(one) && !BY_HAND.includes(one)))
    settle(`${folder}/${name}`, files.has(name), () => rmSync(join(root, folder, name)));
  for (const [name, text] of files) settleFile(join(folder, name), text);
}

function settleFile(path, text) {
  const whole = join(root, path);
  const isRight = existsSync(whole) && readFileSync(whole, 'utf8') === text;
  settle(path, isRight, () => {
    mkdirSync(dirname(whole), { recursive: true });
    // a test may read the page while another one renews it
    const whileWritten = `${whole}.${process.pid}`;
    writeFileSync(whileWritten, text);
    renameSync(whileWritten, whole);
  });
}

async function settleDocuments() {
  // the document describes itself by the compiled decorators
  if (!ensureBuilt()) return ['without a build there is no OpenAPI document'];
  for (const [path, text] of await exportFieldLists(root)) settleFile(path, text);
  crds = readCrds();
  settleFolder(resourceTypes(crds));
  const openapi = await openapiDocument(root);
  settleFile('docs/openapi.json', `${JSON.stringify(openapi, undefined, 2)}\n`);
  const reference = referencePages(root, crds, openapi);
  reference.files.set('cli.md', await commandPage(root));
  reference.files.set('filter-language.md', await filterPage());
  reference.files.set('langsmith-compatibility.md', compatibilityPage());
  reference.files.set('langgraph-api-differences.md', differencesPage(root));
  const chart = await chartFiles(root, crds, version);
  for (const [path, text] of chart.files)
    if (path.startsWith(REFERENCE)) reference.files.set(path.slice(REFERENCE.length), text);
    else settleFile(path, text);
  reference.files.set('metrics.md', await metricsPage(root));
  reference.files.set('pods.md', await podsPage(root));
  reference.files.set('settings.md', await settingsPage(root));
  const errors = await errorsPage(root, openapi);
  reference.files.set('errors.md', errors.page);
  reference.files.set('events.md', eventsPage(root));
  settleFolder(reference);
  const runbook = runbookPage(root);
  settleFile('docs/runbook.md', runbook.page);
  const results = resultPages(root);
  for (const [path, text] of results.files) settleFile(path, text);
  return [reference, chart, errors, runbook, results].flatMap(({ problems }) => problems);
}

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The version of package.json for programs, which would have to find the file otherwise. */
function platformVersion() {
  return `// Generated from package.json by \`npm run generate\`. Do not edit.

/** Version of the platform and of everything in it. */
export const PLATFORM_VERSION = '${version}';
`;
}

function readCrds() {
  return readdirSync(join(root, 'crds'))
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .map((name) => parse(readFileSync(join(root, 'crds', name), 'utf8')));
}

let crds = readCrds();
settleFolder(resourceTypes(crds));
settleFile('libs/config/src/generated/platform-version.ts', platformVersion());
const problems = onlyTypes ? [] : await settleDocuments();
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exit((isCheck && wrong > 0) || problems.length > 0 ? 1 : 0);
