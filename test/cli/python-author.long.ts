import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { waitFor } from '#lib/testing';
import { agentplane } from './agentplane.js';
import { Dev, edit, sayTo } from './dev-program.js';

const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python)
  process.stderr.write('SKIPPED: authors of Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

/** What an author of an agent in Python does. */
(python ? describe : describe.skip)('the loop of an author of Python', () => {
  const parent = mkdtempSync(join(tmpdir(), 'agentplane-author-'));
  const folder = join(parent, 'my-first');
  const model = join(folder, 'model.py');
  chmodSync(parent, 0o755); // Postgres of root is another user, whose files would lie elsewhere
  let dev: Dev;
  let client: Client;
  let threadId: string;

  afterAll(async () => {
    dev?.child.kill('SIGINT');
    await dev?.ended;
    rmSync(parent, { recursive: true, force: true });
  });

  const say = (content: string): Promise<string> => sayTo(client, threadId, content);
  const says = (what: string): Promise<unknown> =>
    waitFor(() => dev.output.includes(what), { what, intervalMs: 20 });

  it('begins with a new folder, and asks for its packages', async () => {
    expect(await agentplane(['new', folder, '--python'])).toMatchObject({
      code: 0,
      output: expect.stringContaining(`${folder}/.venv/bin/pip install -r `) as unknown,
    });
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain('# my-first');
    expect(existsSync(join(folder, '.env'))).toBe(true);
    dev = new Dev(folder, '--port', '0');
    await says('python3 -m venv .venv && .venv/bin/pip install -r requirements.txt');
    symlinkSync(dirname(dirname(python ?? '')), join(folder, '.venv'));
    const url = await dev.ready(90_000);
    client = new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } });
    ({ thread_id: threadId } = await client.threads.create());
  });

  it('uses tools, and stops for approval', async () => {
    expect(await say('weather in Rome')).toBe('Done: sunny in Rome.');
    await say('send "hi" to ann');
    expect(await client.threads.getState(threadId)).toMatchObject({
      tasks: [{ interrupts: [{ value: { question: 'Send "hi" to ann?' } }] }],
    });
    const values = await client.runs.wait(threadId, 'agent', { command: { resume: 'yes' } });
    expect(JSON.stringify(values)).toContain('Done: sent to ann.');
  });

  it('answers by the new code after an edit, with the thread kept', async () => {
    edit(model, 'You said: ', 'You wrote: ');
    await says('model.py changed, reloading');
    await waitFor(async () => (await say('again')) === 'You wrote: again', {
      what: 'the new code',
    });
    const { values } = await client.threads.getState<{ messages: { content: string }[] }>(threadId);
    expect(values.messages[0]?.content).toBe('weather in Rome');
  });

  it('shows the line at which a run failed', async () => {
    edit(
      model,
      '    last = messages[-1]\n',
      '    last = messages[-1]\n    assert last.text != "fail", "asked to"\n',
    );
    await waitFor(async () => !(await say('fail').catch(() => 'reloading')).startsWith('You wrote'), {
      what: 'the new code',
    });
    await waitFor(
      async () => {
        await say('fail').catch(() => undefined);
        return /model\.py:\d+\n(.*\n)*?.*> +\d+ \| {5}assert last\.text/.test(dev.output);
      },
      { what: 'the line' },
    );
  });

  it('answers with file and line of an error, until it is mended', async () => {
    edit(model, 'import os\n', 'import os import\n');
    await says('SyntaxError: invalid syntax (model.py:3)');
    await says('> 3 | import os import');
    await expect(say('again')).rejects.toMatchObject({ status: 503 });
    edit(model, 'import os import\n', 'import os\n');
    await waitFor(async () => (await say('again').catch(() => '')) === 'You wrote: again', {
      what: 'the mended code',
    });
  });
});
