import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { deploy } from './deploying.mjs';
import { row, sleep, until } from './measuring.mjs';

const image = (image_uri) => ({ source_revision_config: { image_uri } });
const resources = (resource_spec) => ({ source_config: { resource_spec } });
const beside = (more) => ({ name: 'beside', image: 'sample-agent', command: ['node', '-e', ''], ...more });

/** Deployments that never serve, and what shows that a reader is told why. */
const FAILURES = {
  'image does not exist': [image('no-such-image'), /no-such-image/],
  'service account does not exist': [
    resources({ service_account_name: 'nobody' }),
    /serviceaccount "nobody" not found/,
  ],
  'no room': [resources({ memory_mb: 1_000_000 }), /Insufficient memory|quota/i],
  'Secret does not exist': [
    resources({ sidecars: [beside({ envFrom: [{ secretRef: { name: 'no-such-secret' } }] })] }),
    /no-such-secret/,
  ],
  'init container fails': [
    resources({
      init_containers: [beside({ command: ['node', '-e', 'process.exit(3)'] })],
    }),
    /exited.* code 3/,
  ],
  'image of a sidecar does not exist': [
    resources({ sidecars: [beside({ image: 'no-such-image' })] }),
    /no-such-image/,
  ],
  'graph does not load': [image('throwing'), /no model is configured/],
  'container exits': [
    resources({ sidecars: [beside({ command: ['node', '-e', 'process.exit(4)'] })] }),
    /exited.* code 4/,
  ],
};

/** A copy of the sample agent whose graph does not load. */
function addThrowing(repository, dataFolder) {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-broken-'));
  cpSync(join(repository, 'examples', 'agent'), folder, { recursive: true });
  appendFileSync(join(folder, 'src', 'agent.ts'), "throw new Error('no model is configured');\n");
  const words = ['bin/agentplane.js', 'image', 'add', 'throwing', folder, '--data', dataFolder];
  execFileSync(process.execPath, words, { cwd: repository, stdio: 'ignore' });
  rmSync(folder, { recursive: true });
}

/** What `kubectl get arev --watch` prints of each revision: when its `Ready` first had which message. */
function watchRevisions(kubeconfig) {
  const path = '{.metadata.name}{" "}{.status.conditions[?(@.type=="Ready")].message}{"\\n"}';
  const words = ['--kubeconfig', kubeconfig, 'get', 'arev', '-A', '--watch', '-o', `jsonpath=${path}`];
  const child = spawn('kubectl', words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = [];
  createInterface({ input: child.stdout }).on('line', (text) => lines.push({ text, at: performance.now() }));
  return {
    find: (deployment, expected) =>
      lines.find(({ text }) => text.startsWith(`${deployment}-0`) && expected.test(text)),
    stop: () => child.kill(),
  };
}

/** From a deployment that cannot serve until REST, and `kubectl get --watch`, say why. */
export async function measureFailures({ rest, kubeconfig, repository, dataFolder, times }) {
  addThrowing(repository, dataFolder);
  const watch = watchRevisions(kubeconfig);
  await sleep(1_000);
  for (const [kind, [more, expected]] of Object.entries(FAILURES)) {
    const [byRest, byKubectl] = [[], []];
    for (let n = 0; n < Math.min(3, times); n++) {
      const name = `broken-${kind.toLowerCase().replaceAll(' ', '-')}-${n}`;
      const began = performance.now();
      const { id, latest_revision_id: revision } = await deploy(rest, name, more);
      const path = `/v2/deployments/${id}/revisions/${revision}`;
      const look = async () => expected.test((await rest.find(path))?.status_message ?? '');
      byRest.push((await until(`${kind} by REST`, look, began)).tookMs);
      const { found } = await until(`${kind} by kubectl`, () => watch.find(name, expected));
      byKubectl.push(found.at - began);
      await rest.call('DELETE', `/v2/deployments/${id}`);
    }
    row(`explained by REST: ${kind}`, byRest);
    row(`explained by kubectl: ${kind}`, byKubectl);
  }
  watch.stop();
}
