import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { SERVER_LIMITS } from '#lib/http';
import {
  CONFIG_MAPS,
  LABEL,
  NAMESPACES,
  NODES,
  type Pod,
  PODS,
  RESOURCES,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { sendUnread, waitFor } from '#lib/testing';
import { deploymentBody } from '../testdata/deployment-body.js';
import { LogNode } from '../testdata/log-node.js';
import { makeRevision } from '../testdata/make-revision.js';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';

const second = (n: number): string => `2026-11-23T10:00:${String(n).padStart(2, '0')}.000000000Z`;

const BUILDS = 'agentplane-builds';

describe('logs by REST', () => {
  const node = new LogNode();
  const { api, tenant } = testApi({
    nodeLogDialer: node.dial,
    log: createLogger('api-test', 'silent'),
    limits: { ...SERVER_LIMITS, answerStallMs: 500, checkMs: 100 },
  });

  const runPod = async (
    name: string,
    revision: string,
    more: Partial<Pod['spec']> = {},
    place: { readonly namespace?: string; readonly labels?: Readonly<Record<string, string>> } = {},
  ): Promise<void> => {
    const { namespace = tenant.namespace, labels = {} } = place;
    const containers = [{ name: 'agent-server', image: 'x' }];
    const deployment = revision.slice(0, -6);
    await api.client.create<Pod>(PODS, {
      metadata: {
        name,
        namespace,
        labels: { ...labels, [LABEL.deployment]: deployment, [LABEL.revision]: revision },
      },
      spec: { nodeName: 'n1', containers, ...more },
    });
    const containerStatuses = (more.containers ?? containers).map((one) => ({
      name: one.name,
      ready: true,
      restartCount: 0,
      image: 'x',
      imageID: 'x',
      state: { running: { startedAt: '2026-11-23T10:00:00Z' } },
    }));
    await api.client.mergeStatus(
      PODS,
      { namespace, name },
      { status: { phase: 'Running', containerStatuses } },
    );
  };
  const deploy = async (): Promise<{ id: string; name: string; revisionId: string; revision: string }> => {
    const { json } = await tenant.call('POST', '/v2/deployments', deploymentBody());
    const { id, name, latest_revision_id: revisionId } = json;
    const { metadata } = await makeRevision(api.client, tenant, { name, id: revisionId, number: 1 });
    return { id, name, revisionId, revision: metadata.name };
  };
  const fail = (revision: string) =>
    api.client.mergeStatus(
      RESOURCES.AgentRevision,
      { namespace: tenant.namespace, name: revision },
      {
        status: {
          conditions: ['Failed', 'Ready'].map((type) => ({
            type,
            reason: 'CrashLoop',
            message: 'exited 3 times',
            status: type === 'Failed' ? 'True' : 'False',
            lastTransitionTime: second(9),
          })) as never,
        },
      },
    );
  const logName = (pod: string, container = 'agent-server'): string =>
    `${tenant.namespace}/${pod}/${container}`;
  const records = (text: string): { [field: string]: unknown }[] =>
    text
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  const textsOf = (text: string) =>
    records(text).map((one) => one['text'] ?? `# ${one['message'] as string}`);
  /** Reads an answer as it comes. */
  const follow = async (
    path: string,
  ): Promise<{ read: () => string; stop: () => void; ended: Promise<void> }> => {
    const stopping = new AbortController();
    const answer = await fetch(api.url + path, {
      headers: { 'x-api-key': tenant.key },
      signal: stopping.signal,
    });
    expect(answer.status).toBe(200);
    let text = '';
    const ended = (async () => {
      for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString();
    })();
    ended.catch(() => undefined);
    return { read: () => text, stop: () => stopping.abort(), ended };
  };

  beforeAll(async () => {
    await api.client.create(NODES, { metadata: { name: 'n1' } });
    // as a controller of the cluster does
    await api.client.create(NAMESPACES, { metadata: { name: BUILDS } });
    for (const namespace of [tenant.namespace, BUILDS])
      await api.client.create(SERVICE_ACCOUNTS, { metadata: { name: 'default', namespace } });
  });

  it('answers the lines of all pods by time, with pod and container', async () => {
    const { id, name, revision, revisionId } = await deploy();
    const containers = [
      { name: 'agent-server', image: 'x' },
      { name: 'proxy', image: 'x' },
    ];
    await runPod(`${name}-one`, revision);
    await runPod(`${name}-two`, revision, { containers });
    node.print(logName(`${name}-one`), second(1), 'first', 'also first');
    node.print(logName(`${name}-two`), second(2), '\u001b[2Jsecond');
    node.print(logName(`${name}-two`, 'proxy'), second(3), 'third');
    node.print(logName(`${name}-one`), second(4), 'fourth');
    for (const path of [`/v2/deployments/${id}/logs`, `/v2/deployments/${id}/revisions/${revisionId}/logs`]) {
      const { status, text } = await tenant.call('GET', path);
      expect([status, textsOf(text)]).toEqual([
        200,
        ['first', 'also first', '\u001b[2Jsecond', 'third', 'fourth'],
      ]);
      expect(records(text)[3]).toEqual({
        type: 'line',
        time: second(3),
        pod: `${name}-two`,
        container: 'proxy',
        text: 'third',
      });
    }
    const ask = async (query: string) =>
      textsOf((await tenant.call('GET', `/v2/deployments/${id}/logs?${query}`)).text);
    expect(await ask('tail=2')).toEqual(['third', 'fourth']);
    expect(await ask(`since=${second(3)}`)).toEqual(['third', 'fourth']);
    expect(await ask('container=proxy')).toEqual(['third']);
    expect(await ask(`pod=${name}-one`)).toEqual(['first', 'also first', 'fourth']);
    expect(await ask('previous=true')).toEqual([
      expect.stringMatching(/^# .*no container has been restarted/),
    ]);
    const plain = await tenant.call('GET', `/v2/deployments/${id}/logs?tail=1`, undefined, {
      accept: 'text/plain',
    });
    expect(plain.text).toBe(`${second(4)} ${name}-one agent-server fourth\n`);
  });

  it.each<[string, string, number, RegExp | string]>([
    ['a container that no pod has', 'container=none', 404, /has no container none: it has agent-server/],
    ['a pod of others', 'pod=other', 404, /has no pod other/],
    ['a span that is none', 'since=yesterday', 422, 'query.since value_error'],
    ['too many lines', 'tail=10001', 422, 'query.tail less_than_equal'],
    ['the end of what goes on', 'follow=true&previous=true', 422, 'query.previous value_error'],
    ['an unknown parameter', 'lines=4', 422, 'query.lines extra_forbidden'],
  ])('refuses %s', async (_what, query, status, problem) => {
    const { id, name, revision } = await deploy();
    await runPod(`${name}-one`, revision);
    const answer = await tenant.call('GET', `/v2/deployments/${id}/logs?${query}`);
    expect(answer.status).toBe(status);
    if (typeof problem === 'string') expect(problemsIn(answer)).toEqual([problem]);
    else expect(answer.json.detail).toMatch(problem);
  });

  it('has nothing for another workspace', async () => {
    const { id, revisionId } = await deploy();
    const other = await api.workspace();
    for (const path of [`/v2/deployments/${id}/logs`, `/v2/deployments/${id}/revisions/${revisionId}/logs`]) {
      const { status, json } = await other.call('GET', path);
      expect([status, json.detail]).toEqual([404, `Deployment with ID ${id} not found`]);
    }
    const { id: own } = await deploy();
    const foreign = await tenant.call('GET', `/v2/deployments/${own}/revisions/${revisionId}/logs`);
    expect(foreign.status).toBe(404);
    expect((await tenant.call('GET', `/v2/deployments/${randomUUID()}/logs`)).status).toBe(404);
  });

  it('answers what is kept of a revision that failed, and why there is nothing else', async () => {
    const { id, revision, revisionId } = await deploy();
    const paths = [`/v2/deployments/${id}/logs`, `/v2/deployments/${id}/revisions/${revisionId}/logs`];
    const before = await tenant.call('GET', paths[1] ?? '');
    expect(textsOf(before.text)).toEqual([expect.stringMatching(/^# revision .* has no logs: .*\(CREATING/)]);
    await fail(revision);
    await api.client.create(CONFIG_MAPS, {
      metadata: {
        name: `${revision}-output`,
        namespace: tenant.namespace,
        annotations: { 'agentplane.dev/pod': 'gone' },
      },
      data: { 'agent-server.log': `${second(1)} its last\n${second(2)} words\n` },
    });
    for (const path of paths)
      await waitFor(async () => {
        const { text } = await tenant.call('GET', path);
        return textsOf(text).join() === 'its last,words' && records(text)[0]?.['pod'] === 'gone';
      });
  });

  it('follows what is printed, over pods that are made meanwhile, until the reader leaves', async () => {
    const { id, name, revision } = await deploy();
    await runPod(`${name}-one`, revision);
    node.print(logName(`${name}-one`), second(1), 'before', 'last');
    const reading = await follow(`/v2/deployments/${id}/logs?follow=true&tail=1`);
    await waitFor(() => reading.read().includes('last') && node.followers === 1);
    node.print(logName(`${name}-one`), second(2), 'next');
    await runPod(`${name}-two`, revision);
    node.print(logName(`${name}-two`), second(3), 'other');
    await waitFor(() => reading.read().includes('other'));
    const found = records(reading.read()).filter(({ type }) => type === 'line');
    expect(found.map(({ text }) => text)).toEqual(['last', 'next', 'other']);
    reading.stop();
    await waitFor(() => node.followers === 0);
  });

  it('answers what the pod of a build prints, in the namespace of builds, while the build goes on', async () => {
    const { id, revision, revisionId } = await deploy();
    const key = { namespace: tenant.namespace, name: revision };
    const { metadata } = await api.client.get(RESOURCES.AgentRevision, key);
    await api.client.mergeStatus(RESOURCES.AgentRevision, key, {
      status: { build: { startedAt: second(0) } },
    });
    const run = (name: string, owner: string) =>
      runPod(name, revision, {}, { namespace: BUILDS, labels: { [LABEL.owner]: owner } });
    await run('build-own', metadata.uid ?? '');
    await run('build-other', 'uid-of-another');
    node.print(`${BUILDS}/build-own/agent-server`, second(1), 'fetching');
    node.print(`${BUILDS}/build-other/agent-server`, second(2), 'of another workspace');
    const path = `/v2/deployments/${id}/revisions/${revisionId}/logs`;
    await waitFor(async () => textsOf((await tenant.call('GET', path)).text).includes('fetching'));
    expect(textsOf((await tenant.call('GET', path)).text)).toEqual(['fetching']);
    await api.client.mergeStatus(RESOURCES.AgentRevision, key, { status: { image: 'i' } });
    await waitFor(async () => !textsOf((await tenant.call('GET', path)).text).includes('fetching'));
  });

  it('ends when the deployment is deleted', async () => {
    const { id, name, revision } = await deploy();
    await runPod(`${name}-one`, revision);
    node.print(logName(`${name}-one`), second(1), 'line');
    const reading = await follow(`/v2/deployments/${id}/logs?follow=true`);
    await tenant.call('DELETE', `/v2/deployments/${id}`);
    await reading.ended;
    expect(textsOf(reading.read()).at(-1)).toMatch(/^# deployment .* was deleted/);
  });

  it('cuts a reader who does not read, and gives back its place', async () => {
    const { id, name, revision } = await deploy();
    await runPod(`${name}-one`, revision);
    node.print(logName(`${name}-one`), second(1), 'line');
    const { port } = new URL(api.url);
    const path = `/v2/deployments/${id}/logs?follow=true`;
    const cut = sendUnread(
      Number(port),
      `GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${tenant.key}\r\n\r\n`,
    );
    await waitFor(() => node.followers === 1);
    const text = 'x'.repeat(60_000);
    const printing = setInterval(
      () => node.print(logName(`${name}-one`), second(2), text, text, text, text),
      20,
    );
    await cut;
    clearInterval(printing);
    await waitFor(() => node.followers === 0);
  });

  it('refuses more readers than a workspace may have at once', async () => {
    const { id, name, revision } = await deploy();
    await runPod(`${name}-one`, revision);
    node.print(logName(`${name}-one`), second(1), 'line');
    const path = `/v2/deployments/${id}/logs?follow=true`;
    const readers = await Promise.all(Array.from({ length: 8 }, () => follow(path)));
    const left = new AbortController();
    const statuses: number[] = [];
    const more = Array.from({ length: 12 }, () =>
      fetch(api.url + path, { headers: { 'x-api-key': tenant.key }, signal: left.signal })
        .then(({ status }) => statuses.push(status))
        .catch(() => undefined),
    );
    await waitFor(() => statuses.includes(429));
    const other = await api.workspace();
    expect((await other.call('GET', '/v2/deployments')).status).toBe(200);
    for (const { stop } of readers) stop();
    left.abort();
    await Promise.all(more);
    await waitFor(async () => (await tenant.call('GET', `/v2/deployments/${id}/logs`)).status === 200);
  });
});
