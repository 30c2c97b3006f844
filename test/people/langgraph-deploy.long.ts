import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { temporaryFolder } from '#lib/testing';
import { sharedPlatform } from '../support/shared-platform.js';

/** Folder of `install-langgraph.sh`. */
const CLIENTS = process.env['AGENTPLANE_TEST_LANGGRAPH'] ?? '';
const isThere = existsSync(join(CLIENTS, 'python', 'bin', 'langgraph'));
if (!isThere)
  process.stderr.write(
    'SKIPPED: langgraph deploy: AGENTPLANE_TEST_LANGGRAPH names no folder of its clients\n',
  );

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

const PROGRAMS = [
  ['langgraph of PyPI', join(CLIENTS, 'python', 'bin', 'langgraph'), ['--no-input']],
  ['langgraphjs of npm', join(CLIENTS, 'js', 'node_modules', '.bin', 'langgraphjs'), ['--no-input']],
] as const;

const ENVIRONMENT = `LANGSMITH_TRACING=true
ENV=production
HOST=0.0.0.0
PYTHONPATH=.
NODE_OPTIONS=--max-old-space-size=4096
GREETING=hello
`;

const GRAPH = (answer: string): string => `import { Annotation, StateGraph } from '@langchain/langgraph';
const State = Annotation.Root({ answer: Annotation() });
export const graph = new StateGraph(State)
  .addNode('say', () => ({ answer: \`${answer} \${process.env.GREETING}\` }))
  .addEdge('__start__', 'say')
  .addEdge('say', '__end__')
  .compile();
`;

(isThere ? describe : describe.skip).each(PROGRAMS)('%s', (title, program, unattended) => {
  const platform = sharedPlatform();
  const folder = temporaryFolder();
  const name = title.startsWith('langgraphjs') ? 'by-npm' : 'by-pypi';

  const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ended> => {
    const { apiKey, restUrl: apiUrl } = platform.credentials;
    const child = spawn(program, name === 'by-npm' ? [...args, '--host-url', apiUrl] : args, {
      cwd: folder,
      env: {
        ...inheritedEnvironment(['PATH', 'HOME', 'LANG']),
        LANGGRAPH_CLI_NO_ANALYTICS: '1',
        LANGGRAPH_HOST_URL: apiUrl,
        LANGSMITH_API_KEY: apiKey,
        NO_COLOR: '1',
        ...more,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
  };
  const deploy = (...args: readonly string[]): Promise<Ended> =>
    run(['deploy', '--remote', '--name', name, ...unattended, ...args]);

  beforeAll(() => {
    writeFileSync(
      join(folder, 'langgraph.json'),
      JSON.stringify({
        node_version: '24',
        dependencies: ['.'],
        graphs: { agent: './graph.js:graph' },
        env: '.env',
      }),
    );
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'small', type: 'module' }));
    writeFileSync(join(folder, '.env'), ENVIRONMENT);
    writeFileSync(join(folder, 'graph.js'), GRAPH('one'));
  });

  it('deploys, deploys an edit, lists, reads logs and deletes', async () => {
    const first = await deploy();
    expect([first.output, first.code]).toEqual([expect.stringContaining('Deployment successful'), 0]);
    const url = /URL: (http:\S+)/.exec(first.output)?.[1] ?? '';
    const answer = async (): Promise<unknown> => {
      const ended = await fetch(`${url}/runs/wait`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': platform.credentials.apiKey },
        body: JSON.stringify({ assistant_id: 'agent', input: {} }),
      });
      return ended.json();
    };
    expect(await answer()).toMatchObject({ answer: 'one hello' });
    writeFileSync(join(folder, 'graph.js'), GRAPH('two'));
    const second = await deploy('--verbose');
    expect([second.output, second.code]).toEqual([expect.stringContaining('Deployment successful'), 0]);
    expect(await answer()).toMatchObject({ answer: 'two hello' });

    const listed = await run(['deploy', 'list']);
    expect([listed.output, listed.code]).toEqual([expect.stringContaining(name), 0]);
    const id = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(listed.output)?.[0] ?? '';
    const revisions = await run(['deploy', 'revisions', 'list', id]);
    expect([revisions.output, revisions.code]).toEqual([expect.stringContaining('REPLACED'), 0]);
    const printed = await run(['deploy', 'logs', '--name', name]);
    expect([printed.output, printed.code]).toEqual([expect.stringContaining('LANGSMITH_TRACING, ENV'), 0]);
    const built = await run(['deploy', 'logs', '--name', name, '--type', 'build']);
    expect([built.output, built.code]).toEqual([expect.stringContaining('fetching the uploaded archive'), 0]);

    const failed = await deploy('--build-command', 'false');
    expect([failed.output, failed.code]).toEqual([
      expect.stringContaining('BuildFailed: build command failed: exit code 1'),
      1,
    ]);
    const deleted = await run(['deploy', 'delete', id, '--force']);
    expect([deleted.output, deleted.code]).toEqual([expect.stringContaining('Deleted'), 0]);
  });
});
