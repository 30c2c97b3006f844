import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { temporaryFolder, testPostgres } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';

const root = join(import.meta.dirname, '..', '..', '..');
const TALKING_AGENT = join(root, 'apps', 'agent-server', 'testdata', 'talking-agent');
const CONFORMANCE = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js');
const PYTHON_CLIENT = join(root, 'apps', 'agent-server', 'testdata', 'mcp-client.py');
const python = process.env['AGENTPLANE_TEST_PYTHON'] ?? '';
if (!python) process.stderr.write('SKIPPED: MCP in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

const postgres = testPostgres();
const folder = temporaryFolder();
let server: ServerProcess;

beforeAll(async () => {
  const { uri } = await postgres.freshDatabase();
  server = await ServerProcess.start({ uri, folder: TALKING_AGENT });
});

afterAll(() => server?.stop());

async function run(program: string, words: readonly string[]): Promise<string> {
  const child = spawn(program, words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  await once(child, 'close');
  return output;
}

interface Check {
  readonly id: string;
  readonly status: string;
}

/** Ids of the checks that failed, by scenario. @param chosen a revision, or one scenario of an extension */
async function failuresOf(chosen: readonly [string, string]): Promise<Map<string, string[]>> {
  const results = join(folder, chosen[1]);
  const words = ['--url', `${server.url}/mcp`, ...chosen, '-o', results];
  await run(process.execPath, [CONFORMANCE, 'server', ...words]);
  const scenarios = readdirSync(results).map((name): [string, string[]] => {
    const checks = JSON.parse(readFileSync(join(results, name, 'checks.json'), 'utf8')) as Check[];
    const failed = checks.filter(({ status }) => status === 'FAILURE').map(({ id }) => id);
    const [, scenario = name] = /^server-(.*?)-\d{4}-\d\d-\d\dT/.exec(name) ?? [];
    return [scenario, failed.sort()];
  });
  return new Map(scenarios);
}

/**
 * Scenarios that apply to a server of tools alone, with the checks that need something else: the tools of the
 * package's example server, lists of prompts and resources, or a server that is open to its own machine alone.
 */
const APPLICABLE: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  '2026-07-28': {
    'server-stateless': [
      'sep-2575-http-server-no-independent-requests-on-stream',
      'sep-2575-missing-capability-http-400',
      'sep-2575-server-no-log-without-loglevel',
      'sep-2575-server-rejects-undeclared-capability',
    ],
    'tools-list': [],
    'http-header-validation': [],
    caching: [
      'sep-2549-prompts-list-caching-hints',
      'sep-2549-resources-list-caching-hints',
      'sep-2549-resources-templates-list-caching-hints',
    ],
    'server-sse-multiple-streams': [],
    'sep-2164-resource-not-found': [],
    'input-required-result-unsupported-methods': [],
    'input-required-result-ignore-extra-params': [],
    'input-required-result-validate-input': [],
  },
  '2025-11-25': { 'server-initialize': [], ping: [], 'tools-list': [], 'server-sse-multiple-streams': [] },
};

it.each(Object.entries(APPLICABLE))('passes the conformance package for %s', async (revision, applicable) => {
  const failures = await failuresOf(['--requirements', revision]);
  const found = Object.keys(applicable).map((scenario) => [scenario, failures.get(scenario)]);
  expect(Object.fromEntries(found)).toEqual(applicable);
  // every message that was seen follows the schema of its revision
  expect([...failures].filter(([, ids]) => ids.includes('wire-schema-valid'))).toEqual([]);
});

/**
 * Scenarios of the extension for tasks, with the checks that need something else: a tool that is never a task,
 * one that asks for input, or one that fails by an error of the protocol.
 */
const OF_TASKS: Readonly<Record<string, readonly string[]>> = {
  'tasks-lifecycle': ['sep-2663-tasks-get-status-failed', 'tasks-sync-tool-call'],
  'tasks-capability-negotiation': [],
  'tasks-wire-fields': [],
  'tasks-request-state-removal': [],
  'tasks-request-headers': ['tasks-headers-tolerate-mcp-method-on-tools-call'],
  'tasks-dispatch-and-envelope': [
    'sep-2663-legacy-task-param-ignored',
    'tasks-result-type-complete-on-non-task-responses',
  ],
};

it.each(Object.entries(OF_TASKS))('passes %s of the conformance package', async (scenario, unmet) => {
  expect((await failuresOf(['--scenario', scenario])).get(scenario)).toEqual(unmet);
});

(python ? it.each : it.skip.each)(['2026-07-28', '2025-11-25'])(
  'serves the client for Python of %s',
  async (revision) => {
    expect(JSON.parse(await run(python, [PYTHON_CLIENT, `${server.url}/mcp`, revision]))).toEqual({
      revision,
      tools: expect.arrayContaining(['echo', 'failing']) as unknown,
      text: '1: hello',
      error: true,
    });
  },
);
