import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PLATFORM_VERSION } from '#lib/config';
import { type GitRepository, type GitServer, gitServer, temporaryFolder, waitFor } from '#lib/testing';
import { TestRegistry } from '../../apps/builder/testdata/test-registry.js';
import { agentAt, type Deployment, urlOf } from '../e2e/walk-rows.js';
import { ClusterBench } from '../support/cluster-bench.js';
import { findRealKubernetes, type Kubectl, leaveOut } from '../support/kubectl.js';
import { startPageDatabase } from '../support/page-database.js';
import { repository } from '../support/platform.js';
import { buildImages, canBeNode, NODE_ADDRESS } from '../support/real-cluster.js';
import type { Rest } from '../support/rest.js';

const home = findRealKubernetes() ?? '';
const isPossible = home !== '' && canBeNode(home);
if (!isPossible) leaveOut('a real node (install.sh --helm --node, as root)');

const TOKEN = 'token-of-the-git-host';
const FOLDER = 'agents/weather';
const BUILDS = 'agentplane-builds';
const BASE = `agentplane/agent:${PLATFORM_VERSION}`;
const INPUT = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
const PATIENT = { timeoutMs: 300_000, intervalMs: 300 };

interface Revision {
  readonly status: string;
  readonly status_reason: string | null;
  readonly status_message: string | null;
}

/** What docs/cluster.md says of builds from git: a private repository, a private registry, pods of a real kubelet. */
(isPossible ? describe : describe.skip)('builds from git on a real node', () => {
  const folder = temporaryFolder();
  let bench: ClusterBench;
  let kubectl: Kubectl;
  let registry: TestRegistry;
  let git: GitServer;
  let source: GitRepository;
  let rest: Rest;
  let namespace: string;
  let integration: string;

  beforeAll(async () => {
    bench = await ClusterBench.up(home, folder);
    ({ kubectl } = bench);
    registry = await TestRegistry.open({ address: NODE_ADDRESS });
    bench.cluster.pullWithoutTls(registry.host);
    const layout = join(folder, 'layout');
    mkdirSync(layout);
    execFileSync('tar', ['-xf', buildImages(), '-C', layout]);
    await registry.add(`oci:${layout}:localhost/${BASE}`, BASE);
    git = await gitServer(NODE_ADDRESS);
    source = await git.repository('weather', TOKEN);
    for (const name of ['langgraph.json', 'src'])
      cpSync(join(repository, 'examples', 'agent', name), join(source.folder, FOLDER, name), {
        recursive: true,
      });
    await source.commit({});
    await startPageDatabase(bench);
    await bench.shell.run(
      bench.page('## Install'),
      [
        '--set builds.enabled=true',
        `--set builds.registry=${registry.host}/agents`,
        '--set builds.pushSecret=push',
        '--set builds.pullSecret=pull',
        '--set builds.insecureRegistry=true',
        `--set builds.base=${registry.host}/${BASE}`,
        '--set agents.runAsNonRoot=true',
        '--set allowPrivateEndpoints=true',
        '--timeout 9m',
      ].join(' '),
    );
    rest = await bench.restWithFirstKey();
    namespace = await bench.workspaceNamespace();
    await putLogin(BUILDS, 'push', registry.dockerConfig());
    await putLogin(namespace, 'pull', registry.dockerConfig());
    const made = await rest.post<{ id: string }>('/v1/integrations/git_host', {
      name: 'ours',
      host: git.host,
      token: TOKEN,
      ca_certificate: git.ca,
    });
    expect([made.status, made.body]).toEqual([201, expect.anything()]);
    integration = made.body.id;
  });

  afterAll(async () => {
    await git?.close();
    await registry?.close();
    await bench?.down();
  });

  async function putLogin(place: string, name: string, login: string): Promise<void> {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name },
      type: 'kubernetes.io/dockerconfigjson',
      stringData: { '.dockerconfigjson': login },
    };
    await kubectl.run(['-n', place, 'apply', '-f', '-'], { input: JSON.stringify(secret) });
  }

  async function deploy(name: string, config: object = {}, path = FOLDER): Promise<Deployment> {
    const { status, body } = await rest.post<Deployment>('/v2/deployments', {
      name,
      source: 'git_host',
      secrets: [],
      source_config: { repo_url: source.url, integration_id: integration, ...config },
      source_revision_config: { repo_ref: 'main', graph_config_path: `${path}/langgraph.json` },
    });
    expect([status, body]).toEqual([201, expect.anything()]);
    return body;
  }

  /** The newest revision once its status is one of these. */
  async function until({ id }: Deployment, words: RegExp): Promise<Revision> {
    const { body } = await rest.get<Deployment>(`/v2/deployments/${id}`);
    const path = `/v2/deployments/${id}/revisions/${body.latest_revision_id}`;
    return waitFor(
      async () => {
        const found = (await rest.get<Revision>(path)).body;
        const said = `${found.status} ${found.status_reason}: ${found.status_message}`;
        if (words.test(said)) return found;
        throw new Error(said);
      },
      { ...PATIENT, what: `a revision that matches ${words}` },
    );
  }

  const imageOf = (revision: string): Promise<string> =>
    kubectl.run(['-n', namespace, 'get', 'arev', revision, '-o', 'jsonpath={.status.image}']);

  async function answerOf({ id }: Deployment): Promise<string> {
    const url = await urlOf(rest, id);
    await bench.awaitService(url);
    const client = agentAt({ rest, reach: (of) => bench.reach(of) }, url);
    return JSON.stringify(await client.runs.wait(null, 'agent', { input: INPUT }));
  }

  it('builds a private repository, pushes the image, and runs what the node pulls with its own login', async () => {
    const began = performance.now();
    const deployment = await deploy('from-git', { build_command: 'echo "in $(pwd) as $(id -u)"' });
    await until(deployment, /^DEPLOYED /);
    process.stderr.write(`built and deployed in ${((performance.now() - began) / 1000).toFixed(1)} s\n`);
    const image = await imageOf('from-git-00001');
    expect(image).toMatch(new RegExp(`^${registry.host}/agents/${namespace}/from-git@sha256:[0-9a-f]{64}$`));
    expect(await answerOf(deployment)).toContain('42');
    const words = ['-n', namespace, 'get', 'configmap', 'from-git-00001-build', '-o', 'json'];
    const { data } = JSON.parse(await kubectl.run(words)) as { data: Record<string, string> };
    expect(data['build.log']).toMatch(/in \/.*\/agents\/weather as 10001/);
    expect(JSON.stringify(data)).not.toContain(TOKEN);
    const left = ['-n', BUILDS, 'get', 'jobs,secrets', '-o', 'name'];
    await waitFor(async () => (await kubectl.run(left)).trim() === 'secret/push', PATIENT);
  });

  it('installs packages that the lock file names, as a user without rights', async () => {
    const dependency = join(folder, 'greeting');
    mkdirSync(dependency);
    writeFileSync(
      join(dependency, 'package.json'),
      JSON.stringify({ name: 'greeting', version: '1.0.0', main: 'index.js' }),
    );
    writeFileSync(join(dependency, 'index.js'), `module.exports = 'good morning';\n`);
    const packed = join(source.folder, 'agents/packed');
    cpSync(join(source.folder, FOLDER), packed, { recursive: true });
    execFileSync('npm', ['pack', '--silent', '--pack-destination', packed], { cwd: dependency });
    writeFileSync(
      join(packed, 'package.json'),
      JSON.stringify({
        name: 'packed',
        version: '1.0.0',
        private: true,
        type: 'module',
        dependencies: { greeting: 'file:greeting-1.0.0.tgz' },
      }),
    );
    execFileSync('npm', ['install', '--silent', '--package-lock-only', '--offline'], { cwd: packed });
    await source.commit({});
    const check = `test "$(node -p 'require("greeting")')" = 'good morning'`;
    const deployment = await deploy('packed', { build_command: check }, 'agents/packed');
    await until(deployment, /^DEPLOYED |FAILED/);
    expect(await answerOf(deployment)).toContain('42');
  });

  it('reports a build command that fails, and keeps its log', async () => {
    const deployment = await deploy('broken', { build_command: 'echo what went wrong >&2; exit 3' });
    const { status_message: message } = await until(deployment, /^BUILD_FAILED BuildFailed/);
    expect(message).toBe('build command failed: exit code 3; its output is in the log of the build');
    const words = ['-n', namespace, 'get', 'configmap', 'broken-00001-build', '-o', 'json'];
    const kept = await waitFor(() => kubectl.run(words).catch(() => undefined), PATIENT);
    expect(kept).toContain('what went wrong');
  });

  it('reports a login that the registry refuses, and pushes with the one that replaces it', async () => {
    await putLogin(BUILDS, 'push', registry.dockerConfig('wrong'));
    const deployment = await deploy('locked-out');
    const { status_message: message } = await until(deployment, /^BUILD_FAILED BuildFailed/);
    process.stderr.write(`${message}\n`);
    expect(message).toMatch(/unauthorized|authentication required/i);
    await putLogin(BUILDS, 'push', registry.dockerConfig());
    const changed = await rest.patch<Deployment>(`/v2/deployments/${deployment.id}`, {
      secrets: [{ name: 'TRY', value: 'again' }],
    });
    expect(changed.status).toBe(200);
    await until(deployment, /^DEPLOYED /);
  });

  it('reports in the words of the node that it may not pull', async () => {
    await putLogin(namespace, 'pull', registry.dockerConfig('wrong'));
    await source.commit({ [`${FOLDER}/README.md`]: 'another image' });
    const deployment = await deploy('not-pulled');
    const { status_message: message } = await until(deployment, /^DEPLOY_FAILED ImagePullFailed/);
    process.stderr.write(`${message}\n`);
    expect(message).toMatch(/401|unauthorized|authorization/i);
  });
});
