import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder, waitFor } from '#lib/testing';
import { OnTerminal } from '../../apps/tui/src/testdata/on-terminal.js';
import { findRealKubernetes, Kubectl, leaveOut } from '../support/kubectl.js';
import { repository } from '../support/platform.js';
import { canBeNode, RealCluster } from '../support/real-cluster.js';

const home = findRealKubernetes() ?? '';
const isPossible = home !== '' && canBeNode(home);
if (!isPossible) leaveOut('a real node (install.sh --node, as root)');

/** A server of one page, and a shell. */
const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'agent', namespace: 'default' },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'main',
        image: 'localhost/pause:test',
        imagePullPolicy: 'Never',
        command: ['/bin/sh', '-c', 'echo "from $HOSTNAME" > /page; exec /bin/busybox httpd -f -p 8000 -h /'],
      },
    ],
  },
};

/** The dashboard on a terminal of 120 columns, over pods that a kubelet runs. */
(isPossible ? describe : describe.skip)('the dashboard on a real node', () => {
  const folder = temporaryFolder();
  let cluster: RealCluster;
  let kubectl: Kubectl;
  let terminal: OnTerminal;

  const shows = (wanted: string | RegExp): Promise<unknown> =>
    waitFor(
      () => {
        const text = terminal.screen.text();
        if (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)) return true;
        throw new Error(`the screen is\n${text}`);
      },
      { what: String(wanted) },
    );

  beforeAll(async () => {
    cluster = RealCluster.up(home, { isNode: true });
    kubectl = new Kubectl(join(home, 'bin', 'kubectl'), cluster.kubeconfig);
    const crds = readdirSync(join(repository, 'crds')).filter((name) => name.endsWith('.yaml'));
    for (const name of crds)
      await kubectl.run(['apply', '-f', '-'], {
        input: readFileSync(join(repository, 'crds', name), 'utf8'),
      });
    await kubectl.run(['apply', '-f', '-'], { input: JSON.stringify(POD) });
    await kubectl.run(['wait', '--for=condition=Ready', 'pod/agent', '--timeout=120s']);
    const program = [join(repository, 'bin', 'agentplane.js'), 'dashboard'];
    terminal = new OnTerminal([...program, '--kubeconfig', cluster.kubeconfig], 120, {
      XDG_CONFIG_HOME: folder,
    });
    await shows('deployments');
    terminal.press(':pods default\r');
    await shows(/agent +.*1\/1/);
  });
  afterAll(async () => {
    await terminal?.quit();
    cluster?.down();
  });

  it('opens a shell in a pod, and comes back from it', async () => {
    terminal.press('s');
    await shows('/ #');
    terminal.press('echo "in $HOSTNAME: $((40 + 2))"\r');
    await shows('in agent: 42');
    terminal.press('exit\r');
    await shows('the shell in agent ended');
    await shows(/agent +.*1\/1/);
  });

  it('comes back from a shell whose pod is deleted', async () => {
    terminal.press('s');
    await shows('/ #');
    await kubectl.run(['delete', 'pod', 'agent', '--wait']);
    await shows('Enter goes back to the dashboard');
    terminal.press('\r');
    await shows('the shell in agent ended');
    await kubectl.run(['apply', '-f', '-'], { input: JSON.stringify(POD) });
    await shows(/agent +.*1\/1/);
  });

  it('forwards a port of a pod until it ends', async () => {
    terminal.press('F');
    await shows('port of the pod');
    terminal.press('8000\r');
    await shows(/127\.0\.0\.1:\d+ leads to port 8000 of agent/);
    const [, port = ''] = /127\.0\.0\.1:(\d+) leads/.exec(terminal.screen.text()) ?? [];
    const page = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/page`)).text();
    expect(await Promise.all([page(), page()])).toEqual(['from agent\n', 'from agent\n']);
    terminal.press('q');
    expect(await terminal.ended).toBe(0);
    await expect(page()).rejects.toThrow();
  });
});
