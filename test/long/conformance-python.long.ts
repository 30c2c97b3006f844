import { join } from 'node:path';
import { testPostgres } from '#lib/testing';
import { ServerProcess } from '../../apps/agent-server/testdata/start-server.js';
import { checkConformance, ROWS } from '../conformance/agent-server/conformance.js';
import { TUNED } from '../conformance/agent-server/replicas.js';

const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python)
  process.stderr.write('SKIPPED: conformance of Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

const TOOLS = 'the stream mode "tools" is not there for Python graphs';
const INDEX = '"store.index" is not there for Python graphs';
const APP = '"http.app" is not there for Python graphs';
const UI = 'the agent has no components';
const CHUNK = 'the library calls a piece of a message AIMessageChunk, as the reference server shows it';

const ofSdks = (name: string, why: string): Record<string, string> =>
  Object.fromEntries(['1.12', '2.0'].map((version) => [`JavaScript SDK ${version}: ${name}`, why]));
/** They wait for components longer than a row may take. */
const WITHOUT_PAGES = ROWS.filter(({ client }) => !client.startsWith('LoadExternalComponent'));

/** Rows that fail against the twins, and why. */
const OPEN: Readonly<Record<string, string>> = {
  ...ofSdks('streams messages-tuple of a run on a thread', CHUNK),
  ...ofSdks('streams messages-tuple of a run without a thread', CHUNK),
  ...ofSdks('streams tools of a run on a thread', TOOLS),
  ...ofSdks('streams tools of a run without a thread', TOOLS),
  ...ofSdks('ranks items by meaning', INDEX),
  'Python SDK: streams tools': TOOLS,
  'Python SDK: ranks items by meaning': INDEX,
  'raw HTTP: starts a run by a command, and streams it on every channel':
    'the library keeps the events of tasks to itself',
  'raw HTTP: serves the app of the agent, which calls its own server': APP,
  'raw HTTP: calls the webhook of a run that is a path of the app of the agent': APP,
  'raw HTTP: sends what a run shows as custom events and keeps it in the state':
    'the library gives what a run shows no run_id',
  'raw HTTP: answers HTML that names style and script, which anybody may load': UI,
  'raw HTTP: lets no name of a component out of the literal in which it stands': UI,
};

/** The rows of the agent server against twins of its graphs, written in Python. */
(python ? describe : describe.skip)('graphs in Python', () => {
  const postgres = testPostgres();
  let server: ServerProcess;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    const folder = join(import.meta.dirname, '..', 'conformance', 'agent-server', 'python-agent');
    const env = { ...TUNED, AGENTPLANE_PYTHON: python ?? '' };
    server = await ServerProcess.start({ uri, folder, env });
  });

  afterAll(() => server?.stop());

  checkConformance(() => ({ url: server.url, headers: {} }), ['tuned'], WITHOUT_PAGES, OPEN);
});
