import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { itLong, waitFor } from '#lib/testing';
import { descendants, listProcesses } from '../support/process-tree.js';
import { repository } from '../support/platform.js';
import { agentplane, agentplaneProcess } from './agentplane.js';
import { Dev, edit, sayTo } from './dev-program.js';

/** Processes that name the folder, with everything below the given ones. */
function processesOf(folder: string): readonly string[] {
  return listProcesses()
    .filter(({ command }) => command.includes(folder) && !command.includes('jest'))
    .map(({ pid, command }) => `${pid} ${command}`);
}

/** What an author does, in the order of the README. */
describe("an author's loop", () => {
  const parent = mkdtempSync(join(tmpdir(), 'agentplane-author-'));
  const folder = join(parent, 'my-first');
  const rules = join(folder, 'src', 'rule-model.ts');
  chmodSync(parent, 0o755); // Postgres of root is another user, whose files would lie elsewhere
  let dev: Dev;
  let url: string;
  let client: Client;
  let threadId: string;

  afterAll(async () => {
    dev?.child.kill('SIGINT');
    await dev?.ended;
    rmSync(parent, { recursive: true, force: true });
  });

  const say = (content: string): Promise<string> => sayTo(client, threadId, content);
  const raw = async (path: string): Promise<{ status: number; body: Record<string, string> }> => {
    const answer = await fetch(`${url}${path}`);
    return { status: answer.status, body: (await answer.json()) as Record<string, string> };
  };
  const reloads = (): number => dev.output.match(/^ready in/gm)?.length ?? 0;

  it('begins with a new folder that nothing is written over', async () => {
    expect(await agentplane(['new', folder])).toMatchObject({
      code: 0,
      output: expect.stringContaining('npx agentplane dev '),
    });
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toMatch(
      /^# my-first\n[^]*^ {4}npx agentplane dev my-first$[^]*`npx agentplane deploy my-first`/m,
    );
    expect(readFileSync(join(folder, '.gitignore'), 'utf8').split('\n')).toContain('.env');
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      name: 'my-first',
    });
    writeFileSync(join(folder, 'README.md'), 'mine');
    expect(await agentplane(['new', folder])).toMatchObject({
      code: 1,
      complaint: `${folder} already exists; name a new folder, or remove that one\n`,
    });
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toBe('mine');
    expect(await agentplane(['new', join(parent, 'My Agent')])).toMatchObject({ code: 2 });
    expect(existsSync(join(parent, 'My Agent'))).toBe(false);
  });

  it('depends on the packages that the platform itself runs on', () => {
    const versionsOf = (path: string): Record<string, string> => {
      const { dependencies, devDependencies } = JSON.parse(readFileSync(path, 'utf8')) as Record<
        string,
        object
      >;
      return { ...devDependencies, ...dependencies };
    };
    expect(versionsOf(join(repository, 'package.json'))).toMatchObject(
      versionsOf(join(folder, 'package.json')),
    );
  });

  it('asks for packages that are missing, and goes on once they are installed', async () => {
    dev = new Dev(folder, '--port', '0');
    await waitFor(() => dev.output.includes('npm install'), {
      what: 'the complaint',
      intervalMs: 20,
    });
    expect(dev.output).toContain(
      `package.json names @langchain/core, @langchain/langgraph, zod, which are not installed; run: cd ${folder} && npm install`,
    );
    symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'));
    url = await dev.ready();
    client = new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } });
    ({ thread_id: threadId } = await client.threads.create());
  });

  it('prints a command that can be pasted', () => {
    const [command = ''] = /curl .*/.exec(dev.output) ?? [];
    expect(execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' })).toContain('You said: hello');
    expect(readFileSync(join(folder, '.agentplane', '.gitignore'), 'utf8')).toBe('*\n');
  });

  it('describes its graph by the types of its sources', async () => {
    await waitFor(
      async () => (await client.assistants.getSchemas('agent')).input_schema?.definitions?.['BaseMessage'],
      { what: 'the types of the graph' },
    );
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

  it('answers by the new code soon after an edit, with the thread kept', async () => {
    const before = ((await client.threads.getState(threadId)).values as { messages: unknown[] }).messages
      .length;
    // the next server is loaded a moment after the last start
    await waitFor(() => descendants(dev.child.pid ?? 0).filter(isServer).length === 2, {
      what: 'a spare server',
    });
    const editedMs = performance.now();
    edit(rules, 'You said:', 'I heard:');
    await waitFor(async () => (await say('hello')) === 'I heard: hello', {
      what: 'the new answer',
      intervalMs: 5,
    });
    const tookMs = performance.now() - editedMs;
    expect(
      ((await client.threads.getState(threadId)).values as { messages: unknown[] }).messages.length,
    ).toBeGreaterThan(before);
    // said and not judged: other tests may keep the machine busy
    process.stderr.write(`reloaded in ${Math.round(tookMs)} ms\n`);
  });

  it('lets requests wait while it reloads', async () => {
    const answers: Promise<string>[] = [];
    const before = reloads();
    edit(rules, 'I heard:', 'You said:');
    const other = await client.threads.create();
    const input = { messages: [{ role: 'user', content: 'x' }] };
    await waitFor(
      () => {
        answers.push(client.runs.wait(null, 'agent', { input }).then((values) => JSON.stringify(values)));
        return reloads() !== before;
      },
      { intervalMs: 20 },
    );
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/(You said|I heard): x/);
    expect(other.thread_id).not.toBe(threadId);
  });

  it('answers 503 with file, line and column of an error, until it is mended', async () => {
    edit(rules, 'if (city) return call(', 'if (city)) return call(');
    const broken = await waitFor(
      async () => {
        const answer = await raw('/info');
        return answer.status === 503 && answer;
      },
      { what: 'the error', intervalMs: 20 },
    );
    expect(broken.body.detail).toMatch(/^the agent's sources do not compile: src\/rule-model\.ts:20:12: /);
    expect(broken.body.frame).toMatch(/^ {2}src\/rule-model\.ts:20:12\n.*> 20 \| {3}if \(city\)\) return/s);
    expect(dev.output).toContain('> 20 |   if (city)) return call(');
    await expect(say('hello')).rejects.toMatchObject({ status: 503 });
    edit(rules, 'if (city)) return call(', 'if (city) return call(');
    await waitFor(async () => (await raw('/info')).status === 200, {
      what: 'the answer',
      intervalMs: 20,
    });
    expect(await say('hello')).toBe('You said: hello');
  });

  it('names the line at which evaluation failed', async () => {
    edit(join(folder, 'src', 'agent.ts'), 'await chooseModel(tools)', 'await chooseModels(tools)');
    const broken = await waitFor(
      async () => {
        const answer = await raw('/ok');
        return answer.status === 503 && answer;
      },
      { what: 'the error', intervalMs: 20 },
    );
    expect(broken.body.detail).toContain('chooseModels is not defined (src/agent.ts:6:15)');
    edit(join(folder, 'src', 'agent.ts'), 'await chooseModels(tools)', 'await chooseModel(tools)');
    await waitFor(async () => (await raw('/ok')).status === 200, {
      what: 'the answer',
      intervalMs: 20,
    });
  });

  it('shows the line at which a run failed', async () => {
    edit(
      rules,
      'const last = messages.at(-1);',
      "if (messages.length > 0) throw new Error('kaput');\n  const last = messages.at(-1);",
    );
    await waitFor(async () => (await say('hello').catch(String)).includes('kaput'), {
      what: 'the failure',
      intervalMs: 20,
    });
    await waitFor(
      () => /run failed: kaput.*\n.*rule-model\.ts:\d+:\d+\n(.*\n)*? {2}> \d+ \|.*kaput/.test(dev.output),
      { what: 'the line', timeoutMs: 5_000, intervalMs: 20 },
    );
    edit(rules, "if (messages.length > 0) throw new Error('kaput');\n  ", '');
    await waitFor(async () => (await say('hello').catch(String)) === 'You said: hello', {
      what: 'the answer',
      intervalMs: 20,
    });
  });

  it('reloads for .env', async () => {
    writeFileSync(join(folder, '.env'), 'MODEL=nothing:at-all\n');
    const broken = await waitFor(
      async () => {
        const answer = await raw('/ok');
        return answer.status === 503 && answer;
      },
      { what: 'the error', intervalMs: 20 },
    );
    expect(broken.body.detail).toContain("Cannot find package 'langchain'");
    writeFileSync(join(folder, '.env'), '');
    await waitFor(async () => (await raw('/ok')).status === 200, {
      what: 'the answer',
      intervalMs: 20,
    });
  });

  it('refuses callers that reached it by another name', async () => {
    const answer = execFileSync('curl', ['-s', '-H', 'host: evil.example', `${url}/info`], {
      encoding: 'utf8',
    });
    expect(JSON.parse(answer)).toEqual({ detail: expect.stringContaining('localhost only') });
  });

  it('refuses pages of others, and takes those of this machine and of LangGraph Studio', () => {
    const statusFor = (origin: string): string =>
      execFileSync(
        'curl',
        ['-s', '-o', '/dev/null', '-w', '%{http_code}', '-H', `origin: ${origin}`, `${url}/info`],
        {
          encoding: 'utf8',
        },
      );
    expect(statusFor('https://evil.example')).toBe('403');
    for (const origin of ['http://localhost:3000', 'https://smith.langchain.com'])
      expect(statusFor(origin)).toBe('200');
  });

  it('names who serves a folder already', async () => {
    const second = await agentplaneProcess(['dev', folder]);
    expect(second).toMatchObject({
      code: 1,
      complaint: expect.stringMatching(`is served by process \\d+ at ${url};`),
    });
  });

  it('leaves nothing behind after Ctrl-C', async () => {
    dev.child.kill('SIGINT');
    expect(await dev.ended).toBe(0);
    await waitFor(() => processesOf(folder).length === 0, {
      what: 'the end of every process',
    });
  });

  itLong(
    'keeps threads over its end, and leaves nothing behind after SIGKILL, not even an agent in a loop',
    async () => {
      dev = new Dev(folder, '--port', '0');
      url = await dev.ready();
      client = new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } });
      expect(await say('again')).toBe('You said: again');
      edit(join(folder, 'src', 'agent.ts'), 'const model =', 'for (;;) {}\nconst model =');
      await waitFor(() => dev.output.includes('reloading'), {
        what: 'the reload',
        intervalMs: 20,
      });
      const all = descendants(dev.child.pid ?? 0);
      expect(all.filter(isServer).length).toBeGreaterThan(0);
      const [program] = all.filter(({ command }) => command.includes('apps/cli/src/main.js'));
      process.kill(program?.pid ?? dev.child.pid ?? 0, 'SIGKILL');
      await dev.ended;
      await waitFor(
        () => {
          const alive = new Set(listProcesses().map(({ pid }) => pid));
          return processesOf(folder).length === 0 && all.every(({ pid }) => !alive.has(pid));
        },
        { what: 'the end of every process' },
      );
    },
  );
});

function isServer({ command }: { readonly command: string }): boolean {
  return command.includes('apps/agent-server/src/main.js');
}
