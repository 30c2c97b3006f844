import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadKubeConnection } from '#lib/kube';
import { PODS, SERVICE_ACCOUNTS } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import {
  FakeClock,
  quietFor,
  temporaryFolder,
  testEmbeddedKube,
  testKubeClient,
  waitFor,
} from '#lib/testing';
import { nodeUser } from '../user/pod-user.js';
import { PodFiles } from '../pod-files/pod-files.js';
import { PodKubeconfig } from './pod-kubeconfig.js';

const HOUR_MS = 3_600_000;

describe('PodKubeconfig', () => {
  const server = testEmbeddedKube();
  const client = testKubeClient(server);
  const folder = temporaryFolder();

  it('renews the token of a pod in time, and at once when the clock was set forward', async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    const clock = new FakeClock(new Date());
    await client.create(SERVICE_ACCOUNTS, { metadata: { namespace: 'default', name: 'default' } });
    const pod = await client.create(PODS, {
      metadata: { namespace: 'default', name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });
    const files = new PodFiles(folder, pod.metadata.uid ?? '', nodeUser);
    mkdirSync(join(folder, pod.metadata.uid ?? ''), { recursive: true });
    const kubeconfig = new PodKubeconfig(files, {
      client,
      connection,
      clock,
      log: createLogger('test', 'silent'),
    });
    await kubeconfig.start(pod);
    const token = (): string => readFileSync(files.tokenFile, 'utf8');
    const first = token();
    await clock.advance(0.7 * HOUR_MS);
    await quietFor(300);
    expect(token()).toBe(first);
    await clock.advance(0.2 * HOUR_MS);
    await waitFor(() => token() !== first);
    const second = token();
    clock.step(HOUR_MS);
    await clock.advance(30_000);
    await waitFor(() => token() !== second);
    kubeconfig.stop();
  });
});
