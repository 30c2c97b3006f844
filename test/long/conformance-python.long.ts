import { join } from 'node:path';
import { testPostgres } from '#lib/testing';
import { GUARDED_PYTHON_AGENT, ServerProcess } from '../../apps/agent-server/testdata/start-server.js';
import { checkConformance, ROWS } from '../conformance/agent-server/conformance.js';
import { TUNED } from '../conformance/agent-server/replicas.js';
import type { Target } from '../conformance/agent-server/target.js';

const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python)
  process.stderr.write('SKIPPED: conformance of Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

const CHUNK = 'the library calls a piece of a message AIMessageChunk, as the reference server shows it';

const ofSdks = (name: string, why: string): Record<string, string> =>
  Object.fromEntries(['1.15', '1.14', '2.0'].map((version) => [`JavaScript SDK ${version}: ${name}`, why]));
/** Rows that fail against the twins, and why. */
const OPEN: Readonly<Record<string, string>> = {
  ...ofSdks('streams messages-tuple of a run on a thread', CHUNK),
  ...ofSdks('streams messages-tuple of a run without a thread', CHUNK),
  'raw HTTP: starts a run by a command, and streams it on every channel':
    'the library keeps the events of tasks to itself',
  'raw HTTP: sends what a run shows as custom events and keeps it in the state':
    'the library gives what a run shows no run_id',
};

/** The rows of the agent server against twins of its graphs, written in Python. */
(python ? describe : describe.skip)('graphs in Python', () => {
  const postgres = testPostgres();
  let servers: readonly ServerProcess[] = [];

  beforeAll(async () => {
    const [{ uri }, guarded] = await Promise.all([postgres.freshDatabase(), postgres.freshDatabase()]);
    const folder = join(import.meta.dirname, '..', 'conformance', 'agent-server', 'python-agent');
    const env = { ...TUNED, AGENTPLANE_PYTHON: python ?? '' };
    servers = await Promise.all([
      ServerProcess.start({ uri, folder, env }),
      ServerProcess.start({ uri: guarded.uri, folder: GUARDED_PYTHON_AGENT, env }),
    ]);
  });

  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  const target = (): Target => {
    const [server, guard] = servers;
    return { url: server?.url ?? '', headers: {}, guardedUrl: guard?.url ?? '' };
  };
  checkConformance(target, ['tuned', 'guarded'], ROWS, OPEN);
});
