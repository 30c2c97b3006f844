import { hasRealKubernetes, temporaryFolder, testApiServer } from '#lib/testing';
import { findHelm, Helm } from '../support/helm.js';
import { findBuiltKubectl, Kubectl, leaveOut } from '../support/kubectl.js';

const binary = findHelm();
const kubectlBinary = findBuiltKubectl();
const VALUES = { database: { existingSecret: 'postgres' }, api: { replicas: 4 } };

if (!binary) leaveOut('helm');

(binary && kubectlBinary && hasRealKubernetes ? describe : describe.skip)(
  'the number of pods of the api',
  () => {
    const server = testApiServer();
    const folder = temporaryFolder();
    let kubectl: Kubectl;
    let helm: Helm;

    beforeAll(async () => {
      kubectl = new Kubectl(kubectlBinary ?? '', server.kubeconfigPath);
      helm = new Helm(binary ?? '', folder);
      await kubectl.run(['create', 'namespace', 'plane']);
      upgrade(VALUES);
    });

    function upgrade(values: object): void {
      const place = ['--namespace', 'plane', '--kubeconfig', server.kubeconfigPath];
      // nothing runs hooks here
      const { code, text } = helm.try(['upgrade', 'agentplane', '--install', '--no-hooks', ...place], values);
      expect([code, code === 0 ? '' : text]).toEqual([0, '']);
    }

    const replicas = (): Promise<string> =>
      kubectl.run(['-n', 'plane', 'get', 'deployment', 'agentplane-api', '-o', 'jsonpath={.spec.replicas}']);

    const autoscaled = { ...VALUES, api: { replicas: 4, autoscaling: { enabled: true } } };

    it('stays as it is when an autoscaler takes over', async () => {
      expect(await replicas()).toBe('4');
      upgrade(autoscaled);
      expect(await replicas()).toBe('4');
    });

    it('stays what the autoscaler chose in the next upgrade', async () => {
      await kubectl.run(['-n', 'plane', 'scale', 'deployment', 'agentplane-api', '--replicas=5']);
      upgrade({ ...autoscaled, podLabels: { team: 'agents' } });
      expect(await replicas()).toBe('5');
    });

    it('returns to that of the values without an autoscaler', async () => {
      upgrade(VALUES);
      expect(await replicas()).toBe('4');
    });
  },
);
