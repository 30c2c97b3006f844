import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '#lib/testing';
import { agentplane, agentplaneProcess } from '../cli/agentplane.js';
import { repository } from '../support/platform.js';
import { listProcesses } from '../support/process-tree.js';

/** The command without a platform: usage, refusals, what it leaves behind. */
describe('agentplane', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-cli-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['no command', [], 2, /Usage: agentplane/],
    ['an unknown command', ['bogus'], 2, /unknown command 'bogus'/],
    ['an unknown command of a group', ['image', 'bogus'], 2, /unknown command 'bogus'/],
    ['a group without its command', ['image'], 2, /add +copy an agent’s folder/],
    ['a missing argument', ['image', 'add', 'x'], 2, /missing required argument 'folder'.*image add --help/s],
    ['an unknown option', ['status', '--bogus'], 2, /unknown option '--bogus'/],
    [
      'an unknown format',
      ['status', '-o', 'x'],
      2,
      /Allowed choices are table, wide, json, yaml, name, jsonpath=TEMPLATE/,
    ],
    ['an address without a port', ['up', '--listen', 'here'], 2, /must look like 127.0.0.1:8470/],
    ['a data folder without a name', ['up', '--data', ''], 2, /'--data <dir>'.*must not be empty/],
    [
      'an address of others',
      ['up', '--listen', '0.0.0.0:1'],
      2,
      /reaches beyond this machine, .*--tls-certificate FILE/,
    ],
    [
      'a data folder full of other things',
      ['up', '--data', repository],
      1,
      /is not empty and is no data folder of Agentplane/,
    ],
    [
      'a kubeconfig that is not there',
      ['up', '--data', join(folder, 'guest'), '--listen', '127.0.0.1:0', '--kubeconfig', '/nowhere'],
      1,
      /up failed: the kubeconfig \/nowhere does not exist/,
    ],
    [
      'a data folder that is a file',
      ['up', '--data', '/dev/null'],
      1,
      /\/dev\/null cannot be used: it is a file/,
    ],
  ])('refuses %s', async (_what, words, code, complaint) => {
    const ending = await agentplane(words);
    expect(ending.complaint).toMatch(complaint);
    expect([ending.code, ending.output]).toEqual([code, '']);
  });

  it.each([
    ['its commands', ['--help'], /dashboard/],
    ['the options of a command', ['up', '--help'], /--listen <host:port>/],
    ['its version', ['version'], /^agentplane \d+\.\d+\.\d+ \(Node 24\./],
  ])('prints %s', async (_what, words, expected) => {
    const ending = await agentplaneProcess(words);
    expect(ending.output).toMatch(expected);
    expect([ending.code, ending.complaint]).toEqual([0, '']);
  });

  it.each([
    ['status', ['status']],
    ['dashboard', ['dashboard']],
    ['image add', ['image', 'add', 'x', join(repository, 'examples', 'agent')]],
    ['image list', ['image', 'list']],
    ['image remove', ['image', 'remove', 'x']],
    ['keys list', ['keys', 'list']],
    ['keys create', ['keys', 'create', 'laptop']],
    ['keys revoke', ['keys', 'revoke', 'x']],
  ])('reports at once that no platform runs: %s', async (_what, words) => {
    const ending = await agentplane([...words, '--data', join(folder, 'nothing')]);
    expect(ending.complaint).toMatch(/\/nothing.*(npm start|agentplane up)/s);
    expect(ending.code).toBe(4);
  });

  it('warns about an agent without a lock file', async () => {
    const agent = mkdtempSync(join(folder, 'agent-'));
    writeFileSync(join(agent, 'langgraph.json'), '{"graphs": {"agent": "./agent.ts:graph"}}');
    writeFileSync(join(agent, 'agent.ts'), 'export const graph = 1;');
    writeFileSync(join(agent, 'package.json'), '{"dependencies": {"yaml": "*"}}');
    const ending = await agentplane(['image', 'add', 'unlocked', agent, '--data', folder]);
    expect(ending.complaint).toMatch(/no lock file/);
    expect(ending.output).toMatch(/imageUri: unlocked/);
    expect(ending.code).toBe(0);
  });

  it('keeps an image to the workspaces that it was added for, and removes its name', async () => {
    const agent = mkdtempSync(join(folder, 'agent-'));
    writeFileSync(join(agent, 'langgraph.json'), '{"graphs": {"agent": "./agent.ts:graph"}}');
    writeFileSync(join(agent, 'agent.ts'), 'export const graph = 1;');
    const add = (...words: string[]) =>
      agentplane(['image', 'add', 'own', agent, '--data', folder, ...words]);
    const first = await add('--workspace', 'red', '-w', 'blue');
    expect([first.code, first.output]).toEqual([0, expect.stringMatching(/of workspace blue, red\.\n$/)]);
    const again = await add();
    expect([again.code, again.complaint]).toEqual([
      0,
      expect.stringMatching(/^Note: own stays an image of workspace blue, red\.\n$/m),
    ]);
    const taken = await add('--workspace', 'red');
    expect([taken.code, taken.complaint]).toEqual([
      1,
      expect.stringMatching(/image own belongs to workspace blue; name it as well, or choose another name/),
    ]);
    const shared = await agentplane(['image', 'add', 'shared', agent, '--data', folder]);
    expect(shared.complaint).toMatch(
      /own of workspace blue, red has the same content, which is open to every/,
    );
    const listed = await agentplane(['image', 'list', '--data', folder]);
    expect(listed.output).toMatch(/WORKSPACES.*\nown .* blue, red /s);
    const removed = await agentplane(['image', 'remove', 'own', '--data', folder]);
    expect([removed.code, removed.output]).toEqual([0, 'image own removed\n']);
    const missing = await agentplane(['image', 'remove', 'own', '--data', folder]);
    expect([missing.code, missing.complaint]).toEqual([
      1,
      expect.stringMatching(/image own does not exist; "agentplane image list" shows those that do/),
    ]);
  });

  it('does not start on a port that another program has', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const ending = await agentplane(['up', '--data', join(folder, 'taken'), '--listen', `127.0.0.1:${port}`]);
    other.close();
    // and what was asked for in vain is not kept
    expect(readdirSync(join(folder, 'taken'))).not.toContain('ports.json');
    expect(ending.complaint).toMatch(
      new RegExp(`port ${port} of the REST interface is taken by another program.*--listen`),
    );
    expect([ending.code, ending.output]).toEqual([1, '']);
  });

  it('names the taken port of Postgres and the way out', async () => {
    const data = join(folder, 'no-postgres');
    mkdirSync(data);
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    writeFileSync(join(data, 'ports.json'), JSON.stringify({ postgres: port }));
    const ending = await agentplane(['up', '--data', data, '--listen', '127.0.0.1:0']);
    other.close();
    expect(ending.complaint).toMatch(
      new RegExp(`port ${port} of Postgres is taken by another program.*remove "postgres" from .*ports.json`),
    );
    expect([ending.code, ending.output]).toEqual([1, '']);
  });

  it('leaves no Postgres behind when interrupted while Postgres starts', async () => {
    const data = join(folder, 'interrupted');
    const child = spawn(
      process.execPath,
      [join(repository, 'bin', 'agentplane.js'), 'up', '--data', data, '--listen', '127.0.0.1:0'],
      { stdio: 'ignore' },
    );
    const ended = new Promise((resolve) => child.once('exit', resolve));
    // made right before the cluster is
    const note = join(data, 'postgres.location');
    const place = await waitFor(
      () =>
        // an empty note is one that is being written
        existsSync(note)
          ? readFileSync(note, 'utf8').trim() || undefined
          : existsSync(join(data, 'postgres')) && data,
      { what: 'the place of Postgres' },
    );
    child.kill('SIGINT');
    await ended;
    const left = listProcesses().filter(({ command }) => command.includes(place));
    expect(left.map(({ command }) => command)).toEqual([]);
    if (existsSync(note)) rmSync(join(place, '..'), { recursive: true, force: true });
  });
});
