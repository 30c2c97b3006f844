import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  freePort,
  hasRealKubernetes,
  temporaryFolder,
  testApiServer,
  testPostgres,
  waitFor,
} from '#lib/testing';
import { findHelm, Helm, type PodSpec, type Rendered } from '../support/helm.js';
import { findBuiltKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import { repository } from '../support/platform.js';

const binary = findHelm();
const kubectlBinary = findBuiltKubectl();
const PROGRAMS: Readonly<Record<string, string>> = {
  setup: 'platform/src/cluster-setup',
  controller: 'controller/src',
  api: 'api/src',
};

const ALLOWING = JSON.stringify({ spec: { allowEnvironmentCredentials: true } });

if (!binary) leaveOut('helm');

/**
 * The chart's hooks and programs on a real API server, with the environment, the account and the rights that the chart gives
 * each: processes instead of pods, since no image is built here.
 */
(binary && kubectlBinary && hasRealKubernetes ? describe : describe.skip)('an installed chart', () => {
  const server = testApiServer();
  const postgres = testPostgres();
  const folder = temporaryFolder();
  const running: { kill(signal: NodeJS.Signals): unknown }[] = [];
  let kubectl: Kubectl;
  let objects: Rendered[];
  let databaseUri: string;
  let restUrl: string;
  const programs: { log(): string }[] = [];

  beforeAll(async () => {
    kubectl = new Kubectl(kubectlBinary ?? '', server.kubeconfigPath);
    databaseUri = (await postgres.freshDatabase()).uri;
    await kubectl.run(['create', 'namespace', 'plane']);
    // a controller manager would
    await kubectl.run(['-n', 'plane', 'create', 'serviceaccount', 'default']);
    await kubectl.run([
      '-n',
      'plane',
      'create',
      'secret',
      'generic',
      'postgres',
      `--from-literal=uri=${databaseUri}`,
      `--from-literal=admin-uri=${databaseUri}`,
    ]);
    objects = new Helm(binary ?? '', folder).render({ database: { existingSecret: 'postgres' } });
    const input = objects.map((object) => JSON.stringify(object)).join('\n---\n');
    await kubectl.run(['apply', '--server-side', '-f', '-'], { input });
  });

  afterAll(() => {
    for (const child of running) child.kill('SIGKILL');
  });

  function podOf(kind: string, name: string): PodSpec {
    const found = objects.find(
      (object) => object.kind === kind && object.metadata.name === `agentplane-${name}`,
    );
    if (!found?.spec?.template) throw new Error(`no ${kind} agentplane-${name}`);
    return found.spec.template.spec;
  }

  /** The variables of a pod, with what a kubelet would put into them. */
  async function environmentOf(pod: PodSpec): Promise<Record<string, string>> {
    const environment: Record<string, string> = {};
    for (const { name, value, valueFrom } of pod.containers[0]?.env ?? []) {
      const secret = valueFrom?.secretKeyRef;
      if (secret) {
        const path = `go-template={{index .data "${secret.key}" | base64decode}}`;
        environment[name] = await kubectl.run(['-n', 'plane', 'get', 'secret', secret.name, '-o', path]);
      } else environment[name] = value ?? '127.0.0.1';
    }
    return environment;
  }

  async function start(pod: PodSpec, more: Readonly<Record<string, string>> = {}) {
    const account = pod.serviceAccountName ?? '';
    const token = (await kubectl.run(['-n', 'plane', 'create', 'token', account])).trim();
    const path = join(folder, `${account}.kubeconfig`);
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'x',
      clusters: [{ name: 'c', cluster: { server: server.url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'plane' } }],
    };
    writeFileSync(path, JSON.stringify(config));
    const program = PROGRAMS[pod.containers[0]?.name ?? ''] ?? '';
    const child = spawn(process.execPath, [join(repository, 'dist', 'apps', program, 'main.js')], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH, ...(await environmentOf(pod)), ...more, KUBECONFIG: path },
    });
    running.push(child);
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
    return { log: () => log, ended: once(child, 'exit') as Promise<[number | null]> };
  }

  async function hook(step: string): Promise<void> {
    const { log, ended } = await start(podOf('Job', `setup-${step}`));
    const [code] = await ended;
    const logs = code === 0 ? '' : [log(), ...programs.map((program) => program.log())].join('\n');
    expect([step, code, logs]).toEqual([step, 0, '']);
  }

  async function firstKey(): Promise<string> {
    const path = 'go-template={{index .data "api-key" | base64decode}}';
    return kubectl.run(['-n', 'plane', 'get', 'secret', 'agentplane-first-key', '-o', path]);
  }

  it('has kinds and a schema before its programs start, and they stay the same when that runs again', async () => {
    await hook('kinds');
    await hook('schema');
    const kinds = async (): Promise<string> =>
      kubectl.run([
        'get',
        'crd',
        '-o',
        'jsonpath={range .items[*]}{.metadata.name} {.metadata.generation}\n{end}',
      ]);
    const before = await kinds();
    expect(before.trim().split('\n')).toHaveLength(7);
    await hook('kinds');
    await hook('schema');
    expect(await kinds()).toBe(before);
  });

  it('says in an event of its Job why a hook failed', async () => {
    const pod = podOf('Job', 'setup-schema');
    const absent = databaseUri.replace(/[^/]*$/, 'absent');
    const { ended } = await start(pod, { AGENTPLANE_DATABASE_URI: absent });
    expect(await ended).toEqual([1, null]);
    const described = await kubectl.run(['-n', 'plane', 'describe', 'job', 'agentplane-setup-schema']);
    expect(described).toMatch(
      /Warning +SetupFailed .* the step schema failed: .*database "absent" does not exist/,
    );
    expect(described).not.toContain(absent);
  });

  it('has programs that are ready with the rights and variables of the chart', async () => {
    const port = await freePort();
    restUrl = `http://127.0.0.1:${port}`;
    const internal = await freePort();
    const metrics = { AGENTPLANE_METRICS_PORT: '0' };
    const controller = await start(podOf('Deployment', 'controller'), {
      ...metrics,
      AGENTPLANE_INTERNAL_PORT: String(internal),
    });
    const api = await start(podOf('Deployment', 'api'), { ...metrics, PORT: String(port) });
    programs.push(controller, api);
    const answers = (url: string): Promise<boolean> =>
      fetch(url).then(
        ({ ok }) => ok,
        () => false,
      );
    await waitFor(() => answers(`${restUrl}/ok`), { what: 'the api' });
    await waitFor(() => answers(`http://127.0.0.1:${internal}/readyz`), {
      what: 'the controller',
    });
  });

  it('has a first workspace with a listener and a key that works, made once', async () => {
    const made = hook('workspace');
    // a controller manager would
    const account = ['-n', 'ws-default', 'create', 'serviceaccount', 'default'];
    await waitFor(async () => (await kubectl.try(account)).code === 0, {
      what: 'the namespace',
    });
    await made;
    const key = await firstKey();
    const list = async (given: string): Promise<number> =>
      (await fetch(`${restUrl}/v2/deployments`, { headers: { 'x-api-key': given } })).status;
    expect(await list(key)).toBe(200);
    const namespace = await kubectl.run([
      'get',
      'workspace',
      'default',
      '-o',
      'jsonpath={.status.namespace}',
    ]);
    expect(await kubectl.run(['-n', namespace, 'get', 'listeners'])).toContain('default');
    // a tenant may get it, and the roles of the platform's pods are the operator's
    const allowed = ['get', 'workspace', 'default', '-o', 'jsonpath={.spec.allowEnvironmentCredentials}'];
    expect(await kubectl.run(allowed)).toBe('false');
    await kubectl.run(['patch', 'workspace', 'default', '--type=merge', '-p', ALLOWING]);
    await hook('workspace');
    expect(await kubectl.run(allowed)).toBe('true');
    expect(await firstKey()).toBe(key);
    expect(await list(`${key.slice(0, -4)}${randomBytes(2).toString('hex')}`)).toBe(401);
  });

  it('has an operator key that manages keys of the workspace', async () => {
    const path = 'go-template={{index .data "operator-key" | base64decode}}';
    const operator = await kubectl.run([
      '-n',
      'plane',
      'get',
      'secret',
      'agentplane-operator-key',
      '-o',
      path,
    ]);
    expect(operator).toMatch(/^apo_[A-Za-z0-9]{43}$/);
    const tenant = await kubectl.run(['get', 'workspace', 'default', '-o', 'jsonpath={.spec.tenantId}']);
    const headers = { 'x-api-key': operator, 'x-tenant-id': tenant };
    const answer = await fetch(`${restUrl}/api/v1/api-key`, { headers });
    expect([answer.status, answer.ok ? '' : await answer.text()]).toEqual([200, '']);
  });
});
