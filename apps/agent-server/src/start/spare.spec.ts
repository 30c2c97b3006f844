import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@langchain/langgraph-sdk';
import { launchSpare, SPARE, spareReady } from '#lib/lifecycle';
import { freePort, temporaryFolder, testPostgres, waitFor } from '#lib/testing';

const INSTALLATION = join(import.meta.dirname, '..', '..', '..', '..');
const MAIN = join(INSTALLATION, 'dist', 'apps', 'agent-server', 'src', 'main.js');
const USER = { uid: 60_999, gid: 60_999 };
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

const GRAPH = `
import { Annotation, StateGraph, START, interrupt } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
const State = Annotation.Root({ answer: Annotation<unknown>, said: Annotation<string> });
export const graph = new StateGraph(State)
  .addNode('only', () => ({ answer: {
    engine: import.meta.resolve('@langchain/langgraph'),
    core: import.meta.resolve('@langchain/core/messages'),
    secret: process.env.SECRET, inFolder: process.env.IN_FOLDER, cwd: process.cwd(),
  }}))
  .addNode('asks', () => ({ said: new AIMessage(interrupt('well?')).text }))
  .addEdge(START, 'only').addEdge('only', 'asks').compile();
`;

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Copies a package with all that it needs. */
function copyPackage(name: string, into: string): void {
  const [from, to] = [INSTALLATION, into].map((folder) => join(folder, 'node_modules', name));
  if (!from || !to || !existsSync(from) || existsSync(to)) return;
  cpSync(from, to, { recursive: true });
  const { dependencies, peerDependencies } = JSON.parse(
    readFileSync(join(to, 'package.json'), 'utf8'),
  ) as Manifest;
  for (const needed of Object.keys({ ...dependencies, ...peerDependencies })) copyPackage(needed, into);
}

/** The process and all that it started. */
function family(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [pid, ...(children === '' ? [] : children.split(' ').flatMap((child) => family(Number(child))))];
}

describe('a spare agent server', () => {
  const postgres = testPostgres();
  const root = temporaryFolder();
  const started: ChildProcess[] = [];
  let folder: string;

  beforeAll(() => {
    folder = join(root, 'agent');
    mkdirSync(folder);
    for (const path of [root, folder]) chmodSync(path, 0o755);
    const files = {
      'langgraph.json': JSON.stringify({
        graphs: { agent: './graph.ts:graph' },
        env: { IN_FOLDER: 'of the folder' },
      }),
      'package.json': '{"type": "module"}',
      'graph.ts': GRAPH,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    for (const name of ['@langchain/langgraph', '@langchain/core']) copyPackage(name, folder);
  });
  afterEach(() => {
    for (const { pid, exitCode, signalCode } of started.splice(0))
      if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
  });

  async function spare(): Promise<ChildProcess & { readonly pid: number }> {
    const child = spawn(process.execPath, [MAIN, SPARE], {
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'ipc'],
    });
    started.push(child);
    await spareReady(child);
    return child as ChildProcess & { readonly pid: number };
  }

  async function launched(child: ChildProcess): Promise<Client> {
    const port = await freePort();
    const { uri } = await postgres.freshDatabase();
    const environment = {
      PATH: process.env.PATH ?? '',
      // the node gives each pod one: its user has no entry in the list of users
      HOME: root,
      HOST: '127.0.0.1',
      PORT: String(port),
      POSTGRES_URI: uri,
      AGENTPLANE_AUTH: 'off',
      TERMINATION_MESSAGE_PATH: join(root, 'termination'),
      SECRET: 'of the deployment',
    };
    await launchSpare(child, { environment, folder, ...(isRoot ? { user: USER } : {}) });
    const apiUrl = `http://127.0.0.1:${port}`;
    await waitFor(async () => (await fetch(`${apiUrl}/ok`)).status === 200);
    return new Client({ apiUrl, apiKey: null });
  }

  interface Answer {
    readonly engine: string;
    readonly core: string;
    readonly secret: string;
    readonly inFolder: string;
    readonly cwd: string;
  }

  /** A run that is interrupted and resumed. */
  async function answerOf(client: Client): Promise<Answer> {
    const { thread_id: thread } = await client.threads.create();
    await client.runs.wait(thread, 'agent', { input: {} });
    const values = await client.runs.wait(thread, 'agent', { command: { resume: 'fine' } });
    expect(values).toMatchObject({ said: 'fine' });
    return (values as { readonly answer: Answer }).answer;
  }

  it('loads an agent with the variables, the folder and the user of its deployment, and the engine of the platform', async () => {
    const child = await spare();
    const before = family(child.pid);
    expect(before).toHaveLength(2);
    const answer = await answerOf(await launched(child));
    expect(answer).toMatchObject({ secret: 'of the deployment', inFolder: 'of the folder', cwd: folder });
    for (const url of [answer.engine, answer.core]) expect(url).toContain(`${INSTALLATION}/node_modules/`);
    expect(family(child.pid)).toEqual(expect.arrayContaining([...before]));
    for (const pid of before)
      expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('of the deployment');
    if (!isRoot) return;
    const ids = family(child.pid).flatMap((pid) =>
      readdirSync(`/proc/${pid}/task`).flatMap((task) =>
        /^Uid:\t(.*)\nGid:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/task/${task}/status`, 'utf8'))?.slice(1),
      ),
    );
    expect([...new Set(ids)]).toEqual([[60_999, 60_999, 60_999, 60_999].join('\t')]);
  });

  it('loads the own engine of an agent where one package of it has another version', async () => {
    const manifest = join(folder, 'node_modules', 'p-queue', 'package.json');
    const text = readFileSync(manifest, 'utf8');
    writeFileSync(manifest, text.replace(/"version": "[^"]+"/, '"version": "0.0.1"'));
    try {
      const answer = await answerOf(await launched(await spare()));
      for (const url of [answer.engine, answer.core]) expect(url).toContain(`${folder}/node_modules/`);
    } finally {
      writeFileSync(manifest, text);
    }
  });

  it('starts another graph host where the waiting one was killed', async () => {
    const child = await spare();
    const [, host = 0] = family(child.pid);
    process.kill(host, 'SIGKILL');
    expect((await answerOf(await launched(child))).secret).toBe('of the deployment');
    expect(family(child.pid)).not.toContain(host);
  });

  it.each([
    ['waits', false],
    ['has become a container', true],
  ])('ends with its node while it %s', async (_when, isLaunched) => {
    const child = await spare();
    const all = family(child.pid);
    if (isLaunched) await launched(child);
    else child.disconnect();
    (child.stdio[3] as { destroy(): void } | undefined)?.destroy();
    await waitFor(() => all.every((pid) => !existsSync(`/proc/${pid}/fd`) || isZombie(pid)));
  });
});

function isZombie(pid: number): boolean {
  try {
    return /^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}
