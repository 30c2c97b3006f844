import { Client } from '@langchain/langgraph-sdk';
import { Client as TraceClient } from 'langsmith';
import { waitFor } from '#lib/testing';
import { findKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import { sharedPlatform } from '../support/shared-platform.js';

const binary = findKubectl();
if (!binary) leaveOut('kubectl');

const DEPLOYMENT = {
  apiVersion: 'agentplane.dev/v1alpha1',
  kind: 'AgentDeployment',
  metadata: { name: 'one' },
  spec: { source: 'internal_image', sourceRevisionConfig: { imageUri: 'sample-agent' } },
};

/** One deployment on one machine, in this order. */
(binary ? describe : describe.skip)('a deployment that serves', () => {
  const platform = sharedPlatform();
  let kubectl: Kubectl;
  let url: string;

  const read = async (what: string, path: string): Promise<string> =>
    (await kubectl.run(['get', what, '-o', `jsonpath=${path}`])).trim();

  beforeAll(async () => {
    kubectl = new Kubectl(binary ?? '', platform.credentials.kubeconfig);
    await kubectl.run(['apply', '-f', '-'], { input: JSON.stringify(DEPLOYMENT) });
    await kubectl.run(['wait', '--for=condition=Ready', 'adep/one', '--timeout=120s']);
    url = await read('adep/one', '{.status.url}');
  });

  it('ends a run with an address for each key of feedback, which takes feedback of its trace without a key', async () => {
    const { apiKey, restUrl } = platform.credentials;
    const client = new Client({ apiUrl: url, apiKey });
    const events: { readonly event: string; readonly data: unknown }[] = [];
    const asked = {
      input: { messages: [{ type: 'human', content: 'hello' }] },
      feedbackKeys: ['helpful', 'kind'],
    };
    for await (const event of client.runs.stream(null, 'agent', asked)) events.push(event);
    const addresses = events.at(-1)?.data as Readonly<Record<string, string>>;
    expect([events.at(-1)?.event, Object.keys(addresses)]).toEqual(['feedback', ['helpful', 'kind']]);
    expect((await fetch(`${addresses['kind']}?score=1`)).status).toBe(200);
    const { run_id: runId } = events[0]?.data as { readonly run_id: string };
    const traces = new TraceClient({ apiUrl: restUrl, apiKey });
    await waitFor(async () => (await traces.readRun(runId).catch(() => undefined)) !== undefined);
    const given: unknown[] = [];
    for await (const one of traces.listFeedback({ runIds: [runId] })) given.push([one.key, one.score]);
    expect(given).toEqual([['kind', 1]]);
  });

  it('gets pods of its revision by kubectl scale, and no other revision', async () => {
    await kubectl.run(['scale', 'adep/one', '--replicas=2']);
    await waitFor(async () => (await read('adep/one', '{.status.replicas}')) === '2');
    expect(await read('arev', '{.items[*].metadata.name}')).toBe('one-00001');
    await waitFor(async () => (await read('deploy/one-00001', '{.status.readyReplicas}')) === '2');
    const selector = await read('adep/one', '{.status.selector}');
    expect(
      (await kubectl.run(['get', 'pods', '-l', selector, '-o', 'name'])).trim().split('\n'),
    ).toHaveLength(2);
    await kubectl.run(['scale', 'adep/one', '--replicas=1']);
  });

  it('answers what it is while it is suspended, and holds requests from its resumption until it serves', async () => {
    const suspend = (value: boolean) =>
      kubectl.run(['patch', 'adep/one', '--type=merge', '-p', JSON.stringify({ spec: { suspend: value } })]);
    const ask = () => fetch(`${url}/info`, { headers: { 'x-api-key': platform.credentials.apiKey } });

    await suspend(true);
    await waitFor(async () => (await ask()).status === 503);
    const refused = await ask();
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(await refused.json()).toMatchObject({
      code: 'deployment_suspended',
      detail: expect.stringContaining('the deployment is suspended; resume it'),
    });

    await suspend(false);
    await waitFor(async () => {
      const note = await read('svc/one', '{.metadata.annotations}');
      return !note.includes('sleep') || note.includes('wakingSince');
    });
    expect((await ask()).status).toBe(200);
  });
});
