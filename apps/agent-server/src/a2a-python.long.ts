import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { WebhookReceiver } from '../testdata/webhook-receiver.js';

const TESTDATA = join(import.meta.dirname, '..', 'testdata');
const python = process.env['AGENTPLANE_TEST_PYTHON'] ?? '';
if (!python) process.stderr.write('SKIPPED: A2A in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

const postgres = testPostgres();
let server: ServerProcess;

beforeAll(async () => {
  const { uri } = await postgres.freshDatabase();
  const env = { RUN_WEBHOOK_PRIVATE_ADDRESSES: 'true' };
  server = await ServerProcess.start({ uri, folder: join(TESTDATA, 'talking-agent'), env });
});

afterAll(() => server?.stop());

async function see(words: readonly string[]): Promise<unknown> {
  const child = spawn(python, [join(TESTDATA, 'a2a-client.py'), ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [said, wrong] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return said === '' ? wrong : JSON.parse(said);
}

(python ? it.each : it.skip.each)(['0.3', '1.0'])(
  'serves every method of the client for Python by %s',
  async (wire) => {
    const receiver = await WebhookReceiver.start();
    expect(await see([server.url, wire, receiver.url])).toEqual({
      answer: '1: hello',
      get: 'TASK_STATE_COMPLETED',
      ...(wire === '1.0' ? { list: [true] } : {}),
      card: 'Repeats the last message.',
      receiver: ['r', true, '', 'Bearer'],
      'receivers left': 0,
      asked: 'TASK_STATE_INPUT_REQUIRED',
      told: 'TASK_STATE_COMPLETED',
      subscribed: true,
      cancelled: 'TASK_STATE_CANCELED',
      "stream's end": 'TASK_STATE_CANCELED',
      errors: ['TaskNotFoundError', 'TaskNotCancelableError'],
    });
    await waitFor(() => receiver.calls.length > 0);
    receiver.stop();
  },
);
