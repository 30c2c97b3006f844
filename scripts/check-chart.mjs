// npm run check:chart: the chart, rendered with the values of test/chart/values/ (one file each), satisfies helm lint,
// kubeconform (strict; schemas of this Kubernetes and of crds/) and kube-score but for what scripts/chart/
// accepted-scores.mjs accepts; so do the other manifests of the repository for kubeconform. No network. The programs are
// those of `bash test/cluster/install.sh --helm`; what is missing is left out loudly, and fails in CI.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { ACCEPTED } from './chart/accepted-scores.mjs';
import { LOCATION, writeKindSchemas } from './chart/kind-schemas.mjs';

const root = resolve(import.meta.dirname, '..');
const chart = join(root, 'charts', 'agentplane');
const home = process.env.KUBE_HOME ?? join(homedir(), '.cache', 'agentplane', 'kube');
const openapiPath = join(home, 'openapi.json');
/** Kinds of the Prometheus operator and of the Gateway API; no schema of theirs is at hand. */
const UNCHECKED = ['PodMonitor', 'PrometheusRule', 'HTTPRoute'];
/** The oldest that the chart supports: what newer ones have changed must not be what satisfies a check. */
const OLDEST = 'v1.29';

const work = mkdtempSync(join(tmpdir(), 'agentplane-chart-'));
const problems = [];

/** Whether a program is there; says loudly that its checks are left out when it is not. */
function find(path, checks) {
  if (existsSync(path)) return true;
  const missing = `${basename(path)} is missing: ${checks}; "bash test/cluster/install.sh --helm" makes it`;
  if (process.env.CI === 'true') problems.push(missing);
  else process.stderr.write(`\n*** LEFT OUT: ${missing}\n\n`);
  return false;
}

function run(program, args) {
  const ran = spawnSync(join(home, 'bin', program), args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  return { ok: ran.status === 0, stdout: ran.stdout ?? '', text: `${ran.stdout}${ran.stderr}`.trim() };
}

function render(values, path) {
  const lint = run('helm', ['lint', '--strict', chart, '--values', path]);
  if (!lint.ok) problems.push(`helm lint with ${values}:\n${lint.text}`);
  const rendered = run('helm', ['template', 'agentplane', chart, '--namespace', 'plane', '--values', path]);
  if (!rendered.ok) problems.push(`helm template with ${values}:\n${rendered.text}`);
  const file = join(work, `${values}.yaml`);
  writeFileSync(file, rendered.ok ? rendered.stdout : '');
  return { values, file };
}

function readObjects(file) {
  return parseAllDocuments(readFileSync(file, 'utf8'))
    .map((document) => document.toJS())
    .filter((object) => object?.kind !== undefined);
}

function manifestsOf(folder) {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(root, folder, name));
}

function checkKinds(files) {
  const objects = files.flatMap(readObjects);
  const crds = manifestsOf('crds').map((path) => parse(readFileSync(path, 'utf8')));
  const schemas = join(work, 'schemas');
  writeKindSchemas(schemas, objects, JSON.parse(readFileSync(openapiPath, 'utf8')), crds);
  const locations = ['-schema-location', join(schemas, LOCATION), '-skip', UNCHECKED.join(',')];
  const answer = run('kubeconform', ['-strict', '-summary', ...locations, ...files]);
  if (!answer.ok) problems.push(`kubeconform:\n${answer.text.replaceAll(`${work}/`, '')}`);
  const unchecked = objects.filter(({ kind }) => UNCHECKED.includes(kind)).length;
  process.stdout.write(`kubeconform: ${objects.length - unchecked} objects checked`);
  process.stdout.write(`, ${unchecked} left out (${UNCHECKED.join(', ')}: no schema)\n`);
}

function accepts(row, { check, text, object, values }) {
  return (
    row.check === check &&
    text.includes(row.text ?? '') &&
    (row.object ?? object) === object &&
    (row.values ?? values) === values
  );
}

/** What kube-score holds against the objects of a file. */
function scoresOf({ values, file }) {
  const { stdout, text } = run('kube-score', [
    ...['score', '--kubernetes-version', OLDEST, '--output-format', 'json', file],
  ]);
  if (!stdout.startsWith('[')) {
    problems.push(`kube-score with ${values}:\n${text}`);
    return [];
  }
  return JSON.parse(stdout).flatMap((scored) =>
    scored.checks
      .filter(({ skipped, grade }) => !skipped && grade < 10) // 10 is the best
      .flatMap(({ check, comments }) =>
        (comments ?? [{ path: '', summary: check.name }]).map(({ path, summary }) => ({
          ...{ check: check.id, values, object: `${scored.type_meta.kind} ${scored.object_meta.name}` },
          text: `${path} ${summary}`.trim(),
        })),
      ),
  );
}

function checkScores(rendered) {
  const findings = rendered.flatMap(scoresOf);
  const open = findings.filter((finding) => !ACCEPTED.some((row) => accepts(row, finding)));
  for (const { check, text, object, values } of open)
    problems.push(`kube-score with ${values}: ${object}: ${text} (${check})`);
  for (const row of ACCEPTED.filter((each) => !findings.some((finding) => accepts(each, finding))))
    problems.push(`scripts/chart/accepted-scores.mjs accepts ${row.check}, which nothing has any more`);
  process.stdout.write(`kube-score: ${findings.length - open.length} findings accepted with a reason\n`);
}

try {
  const folder = join(root, 'test', 'chart', 'values');
  const rendered = find(join(home, 'bin', 'helm'), 'the chart was neither linted nor rendered')
    ? readdirSync(folder).map((name) => render(basename(name, '.yaml'), join(folder, name)))
    : [];
  const files = rendered.map(({ file }) => file);
  if (
    find(join(home, 'bin', 'kubeconform'), 'no schema was checked') &&
    find(openapiPath, 'no schema was checked')
  )
    checkKinds([...files, ...['crds', 'deploy', 'examples'].flatMap(manifestsOf)]);
  if (rendered.length > 0 && find(join(home, 'bin', 'kube-score'), 'nothing was scored'))
    checkScores(rendered);
} finally {
  rmSync(work, { recursive: true, force: true });
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exit(problems.length > 0 ? 1 : 0);
