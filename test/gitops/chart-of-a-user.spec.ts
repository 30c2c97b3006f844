import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '#lib/testing';
import { findHelm } from '../support/helm.js';
import { leaveOut } from '../support/kubectl.js';
import { sharedPlatform } from '../support/shared-platform.js';

const binary = findHelm();
if (!binary) leaveOut('helm');
const run = promisify(execFile);

/** Objects that charts hold beside their workloads. */
const OBJECTS = [
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'mine' } } },
  },
  { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', spec: { podSelector: {} } },
  { apiVersion: 'v1', kind: 'ResourceQuota', spec: { hard: { pods: '40' } } },
  { apiVersion: 'v1', kind: 'LimitRange', spec: { limits: [{ type: 'Container', max: { cpu: '2' } }] } },
  { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', value: 10 },
  { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', provisioner: 'example.com/disk' },
  { apiVersion: 'v1', kind: 'ConfigMap', data: { a: 'b' } },
];

(binary ? describe : describe.skip)('a chart of a user on one machine', () => {
  const platform = sharedPlatform();
  const folder = temporaryFolder();

  it('installs with kinds that nothing acts on, and is removed', async () => {
    mkdirSync(join(folder, 'templates'));
    writeFileSync(join(folder, 'Chart.yaml'), 'apiVersion: v2\nname: mine\nversion: 1.0.0\n');
    for (const object of OBJECTS) {
      const text = JSON.stringify({ ...object, metadata: { name: 'chart-of-a-user' } });
      writeFileSync(join(folder, 'templates', `${object.kind}.yaml`), text);
    }
    const env = { ...process.env, KUBECONFIG: platform.credentials.kubeconfig, HOME: folder };
    const helm = async (...args: string[]): Promise<string> =>
      (await run(binary ?? '', [...args, '--namespace', platform.namespace], { env })).stdout;
    expect(await helm('install', 'mine', folder, '--wait')).toContain('STATUS: deployed');
    expect(await helm('uninstall', 'mine')).toContain('uninstalled');
  });
});
