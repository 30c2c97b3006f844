import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { itLong, testPostgres, waitFor } from '#lib/testing';
import { GUARDED_PYTHON_AGENT, ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';
import { testServer } from '../testdata/test-server.js';

const WORKER_FOLDER = join(import.meta.dirname, '..', 'python');

const python = process.env['AGENTPLANE_TEST_PYTHON'] ?? '';
if (!python) process.stderr.write('SKIPPED: auth in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

(python ? describe : describe.skip)('the process of handlers in Python', () => {
  const postgres = testPostgres();
  const server = testServer({
    folder: GUARDED_PYTHON_AGENT,
    env: { AGENTPLANE_PYTHON: python, AGENTPLANE_EVENT_MB: '1' },
  });

  const ask = (token: string, path = '/threads/search'): Promise<Response> =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: '{}',
    });

  const pidOf = (kind: string): number => {
    const found = execFileSync('pgrep', [
      '-P',
      String(server.child.pid),
      '-f',
      `agent-server/python ${kind}( |$)`,
    ]);
    return Number(found.toString().trim());
  };

  const answersAgain = (): Promise<boolean> =>
    waitFor(async () => (await ask('alice')).status === 200, { what: 'an answer to alice' });

  it('answers 503 until another has taken its place, and lets callers in then', async () => {
    process.kill(pidOf('auth'), 'SIGKILL');
    await waitFor(async () => (await ask('alice')).status === 503, { what: 'a refusal' });
    await answersAgain();
  });

  it('refuses the request under which it ends, and charges no run for it', async () => {
    const graphs = pidOf('graphs');
    const { status, headers } = await ask('die');
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    await answersAgain();
    expect(pidOf('graphs')).toBe(graphs);
  });

  it('refuses every caller while it is stopped', async () => {
    const pid = pidOf('auth');
    process.kill(pid, 'SIGSTOP');
    try {
      const note = /authentication handlers has not answered for \d+ s/;
      await waitFor(async () => note.test(await (await fetch(`${server.url}/ok`)).text()), {
        what: 'a note',
      });
      // at once, as it was silent for 5 s
      const refused = await ask('alice');
      expect(refused.status).toBe(503);
      expect(await refused.text()).toMatch(note);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await answersAgain();
  });

  it('lives on when a handler changes more than graphs may answer', async () => {
    const pid = pidOf('auth');
    const headers = { 'content-type': 'application/json', authorization: 'Bearer alice:edited' };
    const input = { messages: [{ type: 'human', content: 'a'.repeat(5_000_000) }] };
    const body = JSON.stringify({ assistant_id: 'talk', input });
    const { status } = await fetch(`${server.url}/runs/wait`, { method: 'POST', headers, body });
    expect(status).toBe(200);
    expect(pidOf('auth')).toBe(pid);
  });

  it('refuses the request alone when a handler leaves more than can be read', async () => {
    const pid = pidOf('auth');
    const headers = { 'content-type': 'application/json', authorization: 'Bearer alice:flood' };
    const body = JSON.stringify({ assistant_id: 'talk', input: { messages: [] } });
    const { status } = await fetch(`${server.url}/runs/wait`, { method: 'POST', headers, body });
    expect(status).toBe(413);
    expect(pidOf('auth')).toBe(pid);
  });

  it('answers 500 at once when a plain handler raises StopIteration', async () => {
    expect((await ask('unknown')).status).toBe(500);
  });

  it('counts calls that are given up and go on', () => {
    const script = `
import asyncio, threading
from agentplane_worker.threads import Threads
async def main():
    threads, end, shown = Threads("t"), threading.Event(), []
    calls = [asyncio.get_running_loop().run_in_executor(threads, end.wait) for _ in range(70)]
    shown.append(threads.report())
    for call in [*calls[:2], *calls[-2:]]: call.cancel()
    await asyncio.sleep(0)
    shown.append(threads.report())
    end.set()
    await asyncio.wait(calls)
    while threads.report()["givenUp"]: await asyncio.sleep(0.01)
    print(*[tuple(one.values()) for one in (*shown, threads.report())], sep=";", end="")
asyncio.run(main())`;
    const said = execFileSync(python, ['-c', script], { cwd: WORKER_FOLDER });
    expect(said.toString()).toBe('(64, 6, 0);(64, 4, 2);(64, 0, 0)');
  });

  itLong('names plain handlers that do not end, and is replaced when they hold every thread', async () => {
    const pid = pidOf('auth');
    const hung = Array.from({ length: 64 }, () => ask('stuck'));
    expect((await Promise.all(hung)).map(({ status }) => status)).toEqual(hung.map(() => 503));
    const note = /64 of 64 threads hold plain functions that did not end in time/;
    await waitFor(async () => note.test(await (await fetch(`${server.url}/ok`)).text()), {
      what: 'a note',
    });
    await waitFor(async () => (await ask('alice')).status === 200, {
      what: 'an answer to alice',
    });
    expect(pidOf('auth')).not.toBe(pid);
  });

  it('gets no number rounded', async () => {
    expect((await ask('alice:large', '/assistants/search')).status).toBe(500);
    expect((await ask('alice:exact', '/assistants/search')).status).toBe(200);
    expect((await ask('large')).status).toBe(500);
    expect((await ask('exact')).status).toBe(200);
    for (const one of ['rounded-class', 'rounded-field', 'rounded-other', 'too-long'])
      expect([one, (await ask(one)).status]).toEqual([one, 500]);
    expect(server.log.map((line) => JSON.stringify(line)).join()).toMatch(
      /the user's tenant\.id holds a number/,
    );
  });

  it('gets texts without halves of characters', async () => {
    const headers = { 'content-type': 'application/json', authorization: 'Bearer alice:hash' };
    const body = JSON.stringify({ metadata: { a: 'b\ud800' } });
    const found = await fetch(`${server.url}/threads/search`, { method: 'POST', headers, body });
    expect([found.status, await found.json()]).toEqual([200, []]);
  });

  it('grants no user the rights of a studio by a field of the user', async () => {
    const client = (headers: Record<string, string>): Client =>
      new Client({
        apiUrl: server.url,
        apiKey: null,
        defaultHeaders: headers,
        callerOptions: { maxRetries: 0 },
      });
    const { thread_id: id } = await client({ authorization: 'Bearer alice' }).threads.create();
    const poser = client({ authorization: 'Bearer poser' });
    await expect(poser.threads.get(id)).rejects.toMatchObject({ status: 404 });
    expect(await client({ 'x-auth-scheme': 'langsmith' }).threads.get(id)).toMatchObject({ thread_id: id });
  });

  it('shares no process with graphs, and loads no graph library', async () => {
    expect(pidOf('auth')).not.toBe(pidOf('graphs'));
    const maps = (kind: string): string => readFileSync(`/proc/${pidOf(kind)}/maps`, 'utf8');
    // a native module that the graph library loads
    expect(maps('graphs')).toContain('ormsgpack');
    expect(maps('auth')).not.toContain('ormsgpack');
  });

  it.each<[string, string, RegExp]>([
    [
      'asks for the body',
      'async def who(body): return "a"',
      /its authenticate asks for body; the body has not/,
    ],
    [
      'asks for a parameter of another name',
      'async def who(mood): return "a"',
      /asks for mood; it may ask for request/,
    ],
    ['raises while it loads', 'raise ValueError("no key")', /ValueError: no key \(auth\.py:4\)/],
  ])('refuses a module that %s', async (_title, code, said) => {
    const folder = await mkdtemp(join(tmpdir(), 'python-auth-'));
    try {
      await writeFile(join(folder, 'graphs.py'), 'from langgraph.graph import StateGraph\n');
      const graph =
        'from typing import TypedDict\nfrom langgraph.graph import StateGraph\nclass S(TypedDict):\n  a: str\n' +
        'g = StateGraph(S).add_node("n", lambda s: s).set_entry_point("n").compile()\n';
      await writeFile(join(folder, 'graphs.py'), graph);
      const auth = `from langgraph_sdk import Auth\nauth = Auth()\n\n${code}\nauth.authenticate(who)\n`;
      await writeFile(join(folder, 'auth.py'), auth);
      const settings = { graphs: { a: './graphs.py:g' }, auth: { path: './auth.py:auth' } };
      await writeFile(join(folder, 'langgraph.json'), JSON.stringify(settings));
      const { uri } = await postgres.freshDatabase(prepareDatabase);
      await expect(ServerProcess.start({ uri, folder, env: { AGENTPLANE_PYTHON: python } })).rejects.toThrow(
        said,
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
