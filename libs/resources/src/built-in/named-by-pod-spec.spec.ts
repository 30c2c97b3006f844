import { describe, expect, it } from '@jest/globals';
import { namedByPodSpec, type PodReference, pullSecretsOf } from './named-by-pod-spec.js';

const container = { name: 'c', image: 'x' };
const volume = (source: object) => ({ volumes: [{ name: 'v', ...source }] });

describe('namedByPodSpec', () => {
  it.each<[string, PodReference, object]>([
    [
      'all variables of a container',
      'secrets',
      { containers: [{ ...container, envFrom: [{ secretRef: { name: 'n' } }] }] },
    ],
    [
      'a variable of an init container',
      'secrets',
      {
        initContainers: [
          { ...container, env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'n', key: 'k' } } }] },
        ],
      },
    ],
    [
      'a container for looking into a pod',
      'secrets',
      { ephemeralContainers: [{ ...container, envFrom: [{ secretRef: { name: 'n' } }] }] },
    ],
    ['a volume', 'secrets', volume({ secret: { secretName: 'n' } })],
    [
      'a source of a projected volume',
      'secrets',
      volume({ projected: { sources: [{ secret: { name: 'n' } }] } }),
    ],
    ['a CSI driver', 'secrets', volume({ csi: { driver: 'd', nodePublishSecretRef: { name: 'n' } } })],
    ...['secretName', 'secretname', 'SecretName'].map((name): [string, PodReference, object] => [
      `the attribute ${name} of a CSI driver`,
      'secrets',
      volume({ csi: { driver: 'd', volumeAttributes: { other: 'o', [name]: 'n' } } }),
    ]),
    ['a share of Azure', 'secrets', volume({ azureFile: { secretName: 'n', shareName: 's' } })],
    ...['cephfs', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'].map(
      (kind): [string, PodReference, object] => [
        `a volume of ${kind}`,
        'secrets',
        volume({ [kind]: { secretRef: { name: 'n' } } }),
      ],
    ),
    [
      'all variables of a container',
      'configmaps',
      { containers: [{ ...container, envFrom: [{ configMapRef: { name: 'n' } }] }] },
    ],
    [
      'a variable of a container',
      'configmaps',
      {
        containers: [
          { ...container, env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'n', key: 'k' } } }] },
        ],
      },
    ],
    ['a volume', 'configmaps', volume({ configMap: { name: 'n' } })],
    [
      'a source of a projected volume',
      'configmaps',
      volume({ projected: { sources: [{ configMap: { name: 'n' } }] } }),
    ],
    ['a volume', 'persistentvolumeclaims', volume({ persistentVolumeClaim: { claimName: 'n' } })],
  ])('finds the name in %s (%s)', (_place, kind, spec) => {
    expect(namedByPodSpec(spec, kind)).toEqual(['n']);
    for (const other of ['secrets', 'configmaps', 'persistentvolumeclaims'] as const)
      if (other !== kind) expect(namedByPodSpec(spec, other)).toEqual([]);
  });

  it('names each object once, and what images are pulled with apart', () => {
    const twice = [{ secretRef: { name: 'a' } }, { secretRef: { name: 'a' } }, { secretRef: { name: 'b' } }];
    const spec = { containers: [{ ...container, envFrom: twice }], imagePullSecrets: [{ name: 'pull' }] };
    expect(namedByPodSpec(spec, 'secrets')).toEqual(['a', 'b']);
    expect(pullSecretsOf(spec)).toEqual(['pull']);
  });

  it.each([undefined, null, 'text', { containers: 'many', volumes: [1, { secret: [] }] }])(
    'finds nothing in what is no spec (%j)',
    (spec) => {
      expect(namedByPodSpec(spec, 'secrets')).toEqual([]);
    },
  );
});
