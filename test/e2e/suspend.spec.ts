import { waitFor } from '#lib/testing';
import { findKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import { sharedPlatform } from '../support/shared-platform.js';

const binary = findKubectl();
if (!binary) leaveOut('kubectl');

(binary ? describe : describe.skip)('a suspended deployment', () => {
  const platform = sharedPlatform();

  it('answers what it is, and holds requests from its resumption until it serves', async () => {
    const kubectl = new Kubectl(binary ?? '', platform.credentials.kubeconfig);
    const deployment = {
      apiVersion: 'agentplane.dev/v1alpha1',
      kind: 'AgentDeployment',
      metadata: { name: 'paused' },
      spec: { source: 'internal_image', sourceRevisionConfig: { imageUri: 'sample-agent' } },
    };
    await kubectl.run(['apply', '-f', '-'], { input: JSON.stringify(deployment) });
    await kubectl.run(['wait', '--for=condition=Ready', 'adep/paused', '--timeout=120s']);
    const url = (await kubectl.run(['get', 'adep/paused', '-o', 'jsonpath={.status.url}'])).trim();
    const suspend = (value: boolean) =>
      kubectl.run([
        'patch',
        'adep/paused',
        '--type=merge',
        '-p',
        JSON.stringify({ spec: { suspend: value } }),
      ]);
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
      const note = await kubectl.run(['get', 'svc/paused', '-o', 'jsonpath={.metadata.annotations}']);
      return !note.includes('sleep') || note.includes('wakingSince');
    });
    expect((await ask()).status).toBe(200);
    await kubectl.run(['delete', 'adep/paused', '--timeout=90s']);
  });
});
