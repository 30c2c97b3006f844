import { type ResourceSpec } from '#lib/resources';
import type { Kubectl } from '../../support/kubectl.js';

/** A deployment that names for its containers what is not for agents. */
export interface ForbiddenName {
  readonly name: string;
  readonly spec: ResourceSpec;
  /** Reason and message of its condition. */
  readonly report: string;
}

/** Types of Secrets that the platform makes, by names that say nothing. */
const TYPES: Readonly<Record<string, string>> = {
  keys: 'agentplane.dev/destination-credentials',
  hook: 'agentplane.dev/webhook-secret',
  git: 'agentplane.dev/git-integrations',
  login: 'agentplane.dev/build-login',
  tokens: 'agentplane.dev/listener-key',
};

/** A Secret of each type, and a deployment that gets its own from the platform. */
export async function makeSecrets(kubectl: Kubectl): Promise<void> {
  for (const [name, type] of Object.entries(TYPES))
    await kubectl.run(['create', 'secret', 'generic', name, `--type=${type}`, '--from-literal=A=1']);
  const victim = deployment('victim', { suspend: true, sourceConfig: {} });
  await kubectl.run(['apply', '-f', '-'], { input: JSON.stringify(victim) });
}

/** By name: every way in which a resource spec names Secrets and claims. */
export function forbiddenNames(): readonly ForbiddenName[] {
  const container = { name: 'beside', image: 'example.org/beside:1' };
  const volume = (source: object): ResourceSpec => ({ volumes: [{ name: 'v', ...source }] });
  const ofPlatform = (name: string, kind = 'Secret') =>
    `${kind === 'Secret' ? 'SecretRefused' : 'VolumeRefused'}: ${kind} ${name} belongs to the platform and is given to no agent; name a ${kind} of your own`;
  return [
    {
      name: 'greedy-all-variables',
      spec: { sidecars: [{ ...container, envFrom: [{ secretRef: { name: 'hook', optional: true } }] }] },
      report: ofPlatform('hook'),
    },
    {
      name: 'greedy-claim',
      spec: volume({ persistentVolumeClaim: { claimName: 'victim-postgres' } }),
      report: ofPlatform('victim-postgres', 'PersistentVolumeClaim'),
    },
    {
      name: 'greedy-csi',
      spec: volume({ csi: { driver: 'example.org', nodePublishSecretRef: { name: 'git' } } }),
      report: ofPlatform('git'),
    },
    {
      name: 'greedy-future',
      spec: volume({ secret: { secretName: 'unborn-database', optional: true } }),
      report:
        'SecretRefused: Secret unborn-database does not exist, and the platform gives such names to Secrets of its own; create it before a deployment names it, or choose another name',
    },
    {
      name: 'greedy-init',
      spec: { initContainers: [{ ...container, envFrom: [{ secretRef: { name: 'login' } }] }] },
      report: ofPlatform('login'),
    },
    {
      name: 'greedy-projected',
      spec: volume({ projected: { sources: [{ secret: { name: 'tokens' } }] } }),
      report: ofPlatform('tokens'),
    },
    {
      name: 'greedy-variable',
      spec: {
        sidecars: [
          {
            ...container,
            env: [
              {
                name: 'A',
                valueFrom: { secretKeyRef: { name: 'victim-database', key: 'POSTGRES_URI' } },
              },
            ],
          },
        ],
      },
      report: ofPlatform('victim-database'),
    },
    {
      name: 'greedy-volume',
      spec: volume({ secret: { secretName: 'keys' } }),
      report: ofPlatform('keys'),
    },
  ];
}

/** As a list for one apply. */
export function deploymentsOf(forbidden: readonly ForbiddenName[]): object {
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: forbidden.map(({ name, spec }) => deployment(name, { sourceConfig: { resourceSpec: spec } })),
  };
}

function deployment(name: string, spec: object): object {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentDeployment',
    metadata: { name },
    spec: {
      source: 'internal_image',
      sourceRevisionConfig: { imageUri: 'sample-agent' },
      ...spec,
    },
  };
}
