import { Client } from '@langchain/langgraph-sdk';
import { Client as TraceClient } from 'langsmith';
import { waitFor } from '#lib/testing';
import { findKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import { sharedPlatform } from '../support/shared-platform.js';

const binary = findKubectl();
if (!binary) leaveOut('kubectl');

(binary ? describe : describe.skip)('a run with keys of feedback', () => {
  const platform = sharedPlatform();

  it('ends with an address for each, which takes feedback of its trace without a key', async () => {
    const { apiKey, restUrl, kubeconfig } = platform.credentials;
    const kubectl = new Kubectl(binary ?? '', kubeconfig);
    const deployment = {
      apiVersion: 'agentplane.dev/v1alpha1',
      kind: 'AgentDeployment',
      metadata: { name: 'judged' },
      spec: { source: 'internal_image', sourceRevisionConfig: { imageUri: 'sample-agent' } },
    };
    await kubectl.run(['apply', '-f', '-'], { input: JSON.stringify(deployment) });
    await kubectl.run(['wait', '--for=condition=Ready', 'adep/judged', '--timeout=120s']);
    const url = (await kubectl.run(['get', 'adep/judged', '-o', 'jsonpath={.status.url}'])).trim();
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
    await kubectl.run(['delete', 'adep/judged', '--timeout=90s']);
  });
});
