import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { checkConformance } from '../conformance/agent-server/conformance.js';
import { deployAgent, type DeployedAgent } from '../conformance/agent-server/deployed.js';
import { findRealKubernetes, leaveOut } from '../support/kubectl.js';
import { newDataFolder, removeDataFolder, repository } from '../support/platform.js';

const home = findRealKubernetes();
const dataFolder = newDataFolder();
let agent: DeployedAgent;

function cluster(...args: string[]): void {
  execFileSync('bash', [join(repository, 'test/cluster/cluster.sh'), ...args], {
    env: { ...process.env, KUBE_HOME: home ?? '' },
    stdio: 'ignore',
    timeout: 120_000,
  });
}

if (home) {
  beforeAll(async () => {
    cluster('down', '--purge');
    cluster('up');
    agent = await deployAgent(dataFolder, ['--kubeconfig', join(home, 'run', 'admin.kubeconfig')]);
  });

  afterAll(async () => {
    await agent?.stop();
    cluster('down', '--purge');
    removeDataFolder(dataFolder);
  });

  /** The same on a real Kubernetes API server. */
  checkConformance(() => agent.target, ['guarded', 'key', 'tuned']);
} else it('needs a real Kubernetes', () => leaveOut('a real Kubernetes'));
