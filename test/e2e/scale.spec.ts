import { waitFor } from '#lib/testing';
import { findKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import { sharedPlatform } from '../support/shared-platform.js';

const binary = findKubectl();
if (!binary) leaveOut('kubectl');

(binary ? describe : describe.skip)('kubectl scale of a deployment', () => {
  const platform = sharedPlatform();

  it('changes the number of pods of the revision that serves, and makes none', async () => {
    const kubectl = new Kubectl(binary ?? '', platform.credentials.kubeconfig);
    const deployment = {
      apiVersion: 'agentplane.dev/v1alpha1',
      kind: 'AgentDeployment',
      metadata: { name: 'scaled' },
      spec: { source: 'internal_image', sourceRevisionConfig: { imageUri: 'sample-agent' } },
    };
    await kubectl.run(['apply', '-f', '-'], { input: JSON.stringify(deployment) });
    await kubectl.run(['wait', '--for=condition=Ready', 'adep/scaled', '--timeout=120s']);
    await kubectl.run(['scale', 'adep/scaled', '--replicas=2']);
    const read = async (what: string, path: string): Promise<string> =>
      (await kubectl.run(['get', what, '-o', `jsonpath=${path}`])).trim();
    await waitFor(async () => (await read('adep/scaled', '{.status.replicas}')) === '2');
    expect(await read('arev', '{.items[*].metadata.name}')).toBe('scaled-00001');
    await waitFor(async () => (await read('deploy/scaled-00001', '{.status.readyReplicas}')) === '2');
    const selector = await read('adep/scaled', '{.status.selector}');
    expect(
      (await kubectl.run(['get', 'pods', '-l', selector, '-o', 'name'])).trim().split('\n'),
    ).toHaveLength(2);
    await kubectl.run(['delete', 'adep/scaled', '--timeout=90s']);
  });
});
