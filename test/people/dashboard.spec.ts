import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parse } from 'yaml';
import { inheritedEnvironment } from '#lib/config';
import { KubeClient, loadKubeConnection, type Untyped } from '#lib/kube';
import { CUSTOM_RESOURCE_DEFINITIONS, type ResourceRef, RESOURCES } from '#lib/resources';
import { quietFor, testEmbeddedKube, waitFor } from '#lib/testing';
import { OnTerminal } from '../../apps/tui/src/testdata/on-terminal.js';
import { agentplane, type Ending } from '../cli/agentplane.js';
import { repository } from '../support/platform.js';

const CRDS = CUSTOM_RESOURCE_DEFINITIONS as ResourceRef as ResourceRef<Untyped>;

/** `agentplane dashboard` against a cluster that no platform of this machine runs, as a person would start it. */
describe('agentplane dashboard on a cluster', () => {
  const kube = testEmbeddedKube();
  const elsewhere = mkdtempSync(join(tmpdir(), 'agentplane-elsewhere-'));
  afterAll(() => rmSync(elsewhere, { recursive: true, force: true }));

  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: kube.kubeconfigPath });
    const client = new KubeClient(connection, { fieldManager: 'test' });
    const folder = join(repository, 'crds');
    for (const name of readdirSync(folder).filter((one) => one.endsWith('.yaml')))
      await client.apply(CRDS, parse(readFileSync(join(folder, name), 'utf8')) as Untyped);
    await client.close();
  });

  function dashboard(environment: Record<string, string>, ...words: string[]): Promise<Ending> {
    return agentplane(['dashboard', ...words], { cwd: elsewhere, environment });
  }

  it('opens the cluster that KUBECONFIG names', async () => {
    const { code, output, complaint } = await dashboard({ KUBECONFIG: kube.kubeconfigPath });
    expect([code, complaint]).toEqual([0, '']);
    expect(output).toMatch(/DEPLOYMENTS/i);
  });

  it('reports at once that it is opening, and erases the line afterwards', async () => {
    const command = `exec "${process.execPath}" "${join(repository, 'bin', 'agentplane.js')}" dashboard`;
    const terminal = spawn('script', ['-qec', command, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      // without CI, which tells Ink that nobody looks
      env: {
        ...inheritedEnvironment(['PATH', 'HOME', 'LANG']),
        KUBECONFIG: kube.kubeconfigPath,
        TERM: 'xterm',
        SHELL: '/bin/sh',
      },
    });
    let output = '';
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    await waitFor(() => output.includes('Opening'), { what: 'the opening' });
    // typed before there is a screen: it must neither be shown nor act
    terminal.stdin.write('\rq');
    await waitFor(() => output.includes('deployments'), { what: 'the first table' });
    await quietFor(300);
    expect(terminal.exitCode).toBeNull();
    expect(output).toContain('\u001b[?2004h');
    expect(output).toMatch(/^Opening the dashboard …\r\u001b\[K/);
    terminal.stdin.write('q');
    expect((await once(terminal, 'exit'))[0]).toBe(0);
  });

  it('leaves every key to the editor, and takes them again afterwards', async () => {
    const [editor, typed] = [join(elsewhere, 'editor'), join(elsewhere, 'typed')];
    const script = `echo ready; for n in 1 2 3 4 5; do read -r line; echo "$line" >> '${typed}'; echo "took $n"; done`;
    writeFileSync(editor, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const client = new KubeClient(await loadKubeConnection({ kubeconfigPath: kube.kubeconfigPath }), {
      fieldManager: 'test',
    });
    await client.apply(RESOURCES.BulkExportDestination, {
      metadata: { name: 'edited', namespace: 'default' },
      spec: { type: 'object_store', config: { bucketName: 'none' } },
    } as never);
    await client.close();
    const words = [
      join(repository, 'bin', 'agentplane.js'),
      'dashboard',
      '--kubeconfig',
      kube.kubeconfigPath,
    ];
    const terminal = new OnTerminal(words, 100, { VISUAL: editor, XDG_CONFIG_HOME: elsewhere });
    const shows = (text: string): Promise<unknown> =>
      waitFor(() => terminal.screen.text().includes(text), { what: text });
    await shows('deployments');
    terminal.press(':destinations default\r');
    await shows('edited');
    terminal.press('e');
    await shows('ready');
    const lines = ['one', 'two', 'three', 'four', 'five'];
    for (const [at, line] of lines.entries()) {
      terminal.press(`${line}\r`);
      await shows(at + 1 < lines.length ? `took ${at + 1}` : 'edited');
    }
    expect(readFileSync(typed, 'utf8').trim().split('\n')).toEqual(lines);
    terminal.press('q');
    expect(await terminal.ended).toBe(0);
  });

  it('exits with 2 for a view that does not exist, and with 4 where the API server is unreachable', async () => {
    const here = { KUBECONFIG: kube.kubeconfigPath };
    expect((await dashboard(here, '--once', '--view', 'nope')).code).toBe(2);
    const away = join(elsewhere, 'away');
    writeFileSync(
      away,
      readFileSync(kube.kubeconfigPath, 'utf8').replace(/(https?:\/\/[^:\s]+):\d+/, '$1:9'),
    );
    expect((await dashboard({ KUBECONFIG: away }, '--once')).code).toBe(4);
  });

  it('takes the first file of a list that exists', async () => {
    const list = [join(elsewhere, 'nothing'), kube.kubeconfigPath].join(delimiter);
    expect((await dashboard({ KUBECONFIG: list })).code).toBe(0);
  });

  it('prefers a data folder that is named to KUBECONFIG', async () => {
    const { code, complaint } = await dashboard({ KUBECONFIG: kube.kubeconfigPath }, '--data', elsewhere);
    expect(code).toBe(4);
    expect(complaint).toContain('no platform runs over the data folder');
  });

  it('names a file of KUBECONFIG that does not exist', async () => {
    const { code, complaint } = await dashboard({ KUBECONFIG: join(elsewhere, 'nothing') });
    expect(code).toBe(1);
    expect(complaint).toContain(`the kubeconfig ${join(elsewhere, 'nothing')} does not exist`);
  });
});
