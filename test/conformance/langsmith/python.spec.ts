import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { testApi } from '../../../apps/api/src/testdata/test-api.js';
import { refusalOf, rowsOf } from './method-rows.js';
import { PYTHON_ASYNC } from './python-async-methods.js';
import { PYTHON } from './python-methods.js';
import { PYTHON_RESOURCES } from './python-resource-methods.js';
import { makeWorld } from './world.js';

/** A Python with the packages of install-python.sh. */
const EXECUTABLE = process.env.AGENTPLANE_TEST_PYTHON ?? 'python3';
const hasPython = spawnSync(EXECUTABLE, ['-c', 'import langsmith, langgraph']).status === 0;
const SCRIPT = join(import.meta.dirname, 'python', 'methods.py');
const LIMIT_MS = 240_000;

type Kind = 'client' | 'async' | 'resources';

interface Report {
  readonly version: string;
  readonly methods: Readonly<Record<Kind, readonly string[]>>;
  readonly called: Readonly<Record<Kind, Readonly<Record<string, string>>>>;
}

function run(world: object): Promise<Report> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', LANGSMITH_TRACING: 'false' };
    const options = { timeout: LIMIT_MS - 10_000, maxBuffer: 64 * 1024 * 1024, env };
    const child = execFile(EXECUTABLE, [SCRIPT], options, (error, stdout, stderr) => {
      const last = stdout.trimEnd().split('\n').at(-1) ?? '';
      if (error) reject(new Error(`${error.message}\n${stderr.slice(-4_000)}`));
      else resolve(JSON.parse(last) as Report);
    });
    child.stdin?.end(JSON.stringify(world));
  });
}

const TABLES: readonly (readonly [Kind, typeof PYTHON])[] = [
  ['client', PYTHON],
  ['async', PYTHON_ASYNC],
  ['resources', PYTHON_RESOURCES],
];

(hasPython ? describe : describe.skip)('methods of the Python clients', () => {
  const running = testApi();
  let report: Report;

  beforeAll(async () => {
    const { client: _client, call: _call, ...world } = await makeWorld(running);
    report = await run(world);
  });

  it.each(TABLES)('covers every public method of the installed version: %s', (kind, table) => {
    expect(table.version).toBe(`langsmith ${report.version} (PyPI)`);
    const rows = rowsOf(table).map(({ method }) => method);
    expect(rows.sort()).toEqual([...report.methods[kind]].sort());
    expect(Object.keys(report.called[kind]).sort()).toEqual(rows);
  });

  for (const [kind, table] of TABLES)
    describe(kind, () => {
      it.each(rowsOf(table).map((row) => [row.method, row.outcome, row] as const))(
        '%s: %s',
        (method, outcome, row) => {
          const became = report.called[kind][method];
          if (outcome === 'works' || outcome === 'local') expect(became).toBe('ok');
          else if (outcome === 'broken') expect(became).toMatch(/^\w+Error: /);
          else expect(became).toContain(refusalOf(row));
        },
      );
    });
});
