import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Client } from '@langchain/langgraph-sdk';
import { temporaryFolder, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { agentAt, deployed, type Deployment, urlOf } from '../e2e/walk-rows.js';
import { ClusterBench, type Pod } from '../support/cluster-bench.js';
import { findRealKubernetes, type Kubectl, leaveOut } from '../support/kubectl.js';
import { PAGE_DATABASE, startPageDatabase } from '../support/page-database.js';
import { killContainers } from '../support/pod-processes.js';
import { canBeNode } from '../support/real-cluster.js';
import type { Rest } from '../support/rest.js';

const home = findRealKubernetes() ?? '';
const isPossible = home !== '' && canBeNode(home);
if (!isPossible) leaveOut('a real node (install.sh --helm --node, as root)');

const IMAGE = 'localhost/sample-agent:1';
/** The sandbox image of the node, which runs as root. */
const ROOTS_IMAGE = 'localhost/pause:test';
const INPUT = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
const PATIENT = { timeoutMs: 120_000, intervalMs: 300 };
/** Twice what `kubectl drain` waits before it asks again for an eviction that a budget refused. */
const ASKED_AGAIN_MS = 10_000;

interface Revision {
  readonly status: string;
  readonly status_reason?: string;
  readonly status_message?: string;
}

/** What a kubelet, kube-proxy and a scheduler make of sleep, failures and pods that do not start. */
(isPossible ? describe : describe.skip)('agents on a real node', () => {
  const folder = temporaryFolder();
  let bench: ClusterBench;
  let kubectl: Kubectl;
  let rest: Rest;
  let namespace: string;

  beforeAll(async () => {
    bench = await ClusterBench.up(home, folder);
    ({ kubectl } = bench);
    await startPageDatabase(bench);
    await bench.shell.run(bench.page('## Install'), '--set agents.runAsNonRoot=true --timeout 9m');
    rest = await bench.restWithFirstKey();
    namespace = await bench.workspaceNamespace();
  });

  afterAll(() => bench?.down());

  async function deploy(name: string, more: object = {}): Promise<Deployment> {
    const { status, body } = await rest.post<Deployment>('/v2/deployments', {
      name,
      source: 'external_image',
      source_config: {},
      secrets: [],
      source_revision_config: { image_uri: IMAGE },
      ...more,
    });
    expect([status, body]).toEqual([201, expect.anything()]);
    return body;
  }

  const inWorkspace = async (...words: readonly string[]): Promise<string> =>
    (await kubectl.run(['-n', namespace, ...words])).trim();

  const readyOf = async (name: string): Promise<{ reason: string; message: string }> =>
    JSON.parse(
      await inWorkspace('get', 'adep', name, '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")]}'),
    ) as { reason: string; message: string };

  async function until(name: string, ...reasons: readonly string[]): Promise<void> {
    await waitFor(
      async () => {
        const { reason, message } = await readyOf(name);
        if (reasons.includes(reason)) return true;
        throw new Error(`${reason}: ${message}`);
      },
      { ...PATIENT, what: `${name} to be ${reasons.join(' or ')}` },
    );
  }

  async function podsOf(name: string): Promise<readonly Pod[]> {
    const text = await inWorkspace('get', 'pods', '-l', `agentplane.dev/deployment=${name}`, '-o', 'json');
    return (JSON.parse(text) as { items: Pod[] }).items;
  }

  async function agent({ id }: Deployment): Promise<Client> {
    return agentAt({ rest, reach: (url) => bench.reach(url) }, await urlOf(rest, id));
  }

  async function eventsOf(name: string): Promise<string> {
    const field = `involvedObject.name=${name}`;
    return inWorkspace('get', 'events', '--field-selector', field, '-o', 'jsonpath={.items[*].reason}');
  }

  describe('a deployment with a min_scale of 0', () => {
    let sleeper: Deployment;

    beforeAll(async () => {
      sleeper = await deploy('sleeper', {
        idle_seconds: 3,
        source_config: { resource_spec: { min_scale: 0 } },
      });
      await until('sleeper', 'Asleep');
    });

    it('has no pods while it sleeps, and answers probes without waking', async () => {
      await waitFor(async () => (await podsOf('sleeper')).length === 0, PATIENT);
      const probe = await fetch(`${bench.reach(await urlOf(rest, sleeper.id))}/ok`);
      expect(await probe.json()).toEqual({ ok: true, asleep: true });
      expect((await readyOf('sleeper')).reason).toBe('Asleep');
    });

    it('answers every request that waited for its wake', async () => {
      const client = await agent(sleeper);
      const began = performance.now();
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => client.runs.wait(null, 'agent', { input: INPUT })),
      );
      process.stderr.write(
        `ten requests woke it and were answered within ${seconds(performance.now() - began)}\n`,
      );
      for (const answer of answers) expect(JSON.stringify(answer)).toContain('42');
      for (const reason of ['FellAsleep', 'Woken']) expect(await eventsOf('sleeper')).toContain(reason);
      await until('sleeper', 'Asleep');
    });

    it('sleeps on while another listener takes over, and wakes through that one', async () => {
      const [former] = await bench.podsOf('listener', namespace);
      const began = performance.now();
      await inWorkspace('delete', 'pod', former?.metadata.name ?? '', '--wait=false');
      const url = bench.reach(await urlOf(rest, sleeper.id));
      // no endpoint until the next listener has written its port
      const listenerIp = await waitFor(async () => {
        const listeners = await bench.podsOf('listener', namespace);
        return listeners.find(({ metadata }) => metadata.uid !== former?.metadata.uid)?.status.podIP;
      }, PATIENT);
      await waitFor(
        async () => {
          const slices = ['get', 'endpointslices', '-l', 'kubernetes.io/service-name=sleeper', '-o'];
          const addresses = await inWorkspace(...slices, 'jsonpath={.items[*].endpoints[*].addresses}');
          return addresses.includes(listenerIp) && (await fetch(`${url}/ok`).catch(() => undefined))?.ok;
        },
        { ...PATIENT, what: 'the next listener to hold requests' },
      );
      process.stderr.write(`the next listener holds requests after ${seconds(performance.now() - began)}\n`);
      expect((await readyOf('sleeper')).reason).toBe('Asleep');
      const answer = await (await agent(sleeper)).runs.wait(null, 'agent', { input: INPUT });
      expect(JSON.stringify(answer)).toContain('42');
    });

    it('serves although the listener that held the request ended', async () => {
      await until('sleeper', 'Asleep');
      const client = await agent(sleeper);
      const held = client.runs.wait(null, 'agent', { input: INPUT }).catch((error: unknown) => error);
      await until('sleeper', 'Waking', 'Ready');
      const [listener] = await bench.podsOf('listener', namespace);
      if (listener) killContainers(listener);
      await held; // answered, or its connection broke
      await waitFor(async () => JSON.stringify(await client.runs.wait(null, 'agent', { input: INPUT })), {
        ...PATIENT,
        what: 'an answer after the listener ended',
      });
    });
  });

  it('goes back to the former revision when the one that took over is killed twice', async () => {
    const deployment = await deploy('fallible');
    await deployed(rest, deployment.id, deployment.latest_revision_id ?? '');
    const { body } = await rest.patch<Deployment>(`/v2/deployments/${deployment.id}`, {
      secrets: [{ name: 'GREETING', value: 'second' }],
    });
    await deployed(rest, deployment.id, body.latest_revision_id ?? '');
    const second = (await podsOf('fallible')).find(({ metadata }) =>
      metadata.name.startsWith('fallible-00002'),
    );
    if (second === undefined) throw new Error('no pod of the second revision');
    for (const count of ['1', '2']) {
      killContainers(second);
      const path = 'jsonpath={.status.containerStatuses[0].restartCount}';
      if (count === '1')
        await waitFor(
          async () => (await inWorkspace('get', 'pod', second.metadata.name, '-o', path)) === count,
          { ...PATIENT, what: 'the kubelet to start the container again' },
        );
    }
    await waitFor(
      async () => (await inWorkspace('get', 'svc', 'fallible', '-o', 'yaml')).includes('fallible-00001'),
      { ...PATIENT, what: 'the Service to lead back' },
    );
    const path = 'jsonpath={.status.conditions[?(@.type=="RolledBack")]}';
    const rolledBack = await waitFor(
      async () => (await inWorkspace('get', 'adep', 'fallible', '-o', path)) || undefined,
      PATIENT,
    );
    expect(JSON.parse(rolledBack)).toMatchObject({
      status: 'True',
      reason: 'CrashLoop',
      message: expect.stringContaining('container agent exited 2 times, last with code 137'),
    });
    await waitFor(async () => (await eventsOf('fallible')).includes('RolledBack'), PATIENT);
    const client = await agent(deployment);
    expect(JSON.stringify(await client.runs.wait(null, 'agent', { input: INPUT }))).toContain('42');
  });

  it('lets a drain take one of two pods at a time, without a failed request', async () => {
    const deployment = await deploy('paired', { source_config: { resource_spec: { min_scale: 2 } } });
    await deployed(rest, deployment.id, deployment.latest_revision_id ?? '');
    await bench.awaitService(await urlOf(rest, deployment.id));
    const former = new Set((await podsOf('paired')).map(({ metadata }) => metadata.uid));
    expect(former.size).toBe(2);
    const budget = ['get', 'pdb', 'paired-00001', '-o', 'jsonpath={.status.disruptionsAllowed}'];
    await waitFor(async () => (await inWorkspace(...budget)) === '1', { ...PATIENT, what: 'the budget' });
    const areLeft = async (): Promise<number> =>
      (await podsOf('paired')).filter(({ metadata }) => former.has(metadata.uid)).length;
    const load = await bench.startLoad(rest, 'paired');
    const began = performance.now();
    const drain = promisify(execFile)(kubectl.binary, [
      '--kubeconfig',
      kubectl.kubeconfig,
      'drain',
      'node-1',
      '--delete-emptydir-data',
      '--timeout=3m',
      '--pod-selector=agentplane.dev/deployment=paired',
    ]);
    drain.catch(() => undefined); // awaited below
    try {
      await waitFor(async () => (await areLeft()) === 1, { ...PATIENT, what: 'the end of one pod' });
      await systemClock.sleep(ASKED_AGAIN_MS);
      expect(await areLeft()).toBe(1);
    } finally {
      await kubectl.run(['uncordon', 'node-1']);
    }
    process.stderr.write(`${(await drain).stderr}drained in ${seconds(performance.now() - began)}\n`);
    await until('paired', 'Ready');
    const report = await load.stop();
    process.stderr.write(
      `${JSON.stringify(report.asked)} asked, slowest ${JSON.stringify(report.slowestMs)}\n`,
    );
    expect(await areLeft()).toBe(0);
    expect(report.failures).toEqual([]);
    await bench.expectKept(PAGE_DATABASE, report);
  });

  /** What REST says of the first revision of a deployment, one after the other, until it matches. */
  async function untilSaid({ id, latest_revision_id: revision }: Deployment, words: RegExp): Promise<void> {
    let said = '';
    await waitFor(
      async () => {
        const { body } = await rest.get<Revision>(`/v2/deployments/${id}/revisions/${revision}`);
        said = `${body.status} ${body.status_reason}: ${body.status_message}`;
        if (words.test(said)) return true;
        throw new Error(said);
      },
      { ...PATIENT, what: `a status that matches ${words}` },
    );
    process.stderr.write(`${said}\n`);
  }

  it.each([
    [
      'an image that no registry has',
      { source_revision_config: { image_uri: 'localhost/no-agent:1' } },
      [
        /DEPLOYING .*ErrImagePull|DEPLOYING .*ImagePullBackOff/,
        /DEPLOY_FAILED ImagePullFailed: pulling the image failed/,
      ],
    ],
    [
      'more CPU than the node has',
      { source_config: { resource_spec: { cpu: 8 } } },
      [/DEPLOYING .*is not scheduled: .*Insufficient cpu/],
    ],
    [
      'an image of root',
      { source_revision_config: { image_uri: ROOTS_IMAGE } },
      [/DEPLOYING .*CreateContainerConfigError: .*runAsNonRoot/],
    ],
    [
      'too little memory',
      { source_config: { resource_spec: { memory_mb: 48, memory_limit_mb: 48 } } },
      [/DEPLOY_FAILED CrashLoop: .*OOMKilled/],
    ],
  ] as const)(
    'reports in the words of the node why a revision with %s does not start',
    async (what, spec, words) => {
      const deployment = await deploy(what.replaceAll(' ', '-').toLowerCase(), spec);
      for (const one of words) await untilSaid(deployment, one);
      expect((await rest.call('DELETE', `/v2/deployments/${deployment.id}`)).status).toBeLessThan(300);
    },
  );
});

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
