import { MAX_NAMED_SECRETS } from '#lib/manifests';
import {
  type AgentDeployment,
  BUILD_LOGIN_TYPE,
  LISTENER_KEY_TYPE,
  type ResourceSpec,
  type Secret,
  SECRET_TYPE,
} from '#lib/resources';
import { findRefusedObject, type NamingDeployment } from './refused-object.js';
import { deployment, revision } from './testdata/sample-world.js';

/** Every way in which a resource spec names a Secret for its containers. */
const WAYS: Readonly<Record<string, (name: string) => ResourceSpec>> = {
  'a volume': (secretName) => ({ volumes: [{ name: 'v', secret: { secretName, optional: true } }] }),
  'a projected volume': (name) => ({
    volumes: [{ name: 'v', projected: { sources: [{ downwardAPI: {} }, { secret: { name } }] } }],
  }),
  'a CSI driver': (name) => ({
    volumes: [{ name: 'v', csi: { driver: 'd', nodePublishSecretRef: { name } } }],
  }),
  'all variables of a sidecar': (name) => ({
    sidecars: [{ name: 's', image: 'i', envFrom: [{ secretRef: { name, optional: true } }] }],
  }),
  'a variable of a sidecar': (name) => ({
    sidecars: [
      { name: 's', image: 'i', env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'k' } } }] },
    ],
  }),
  'all variables of an init container': (name) => ({
    initContainers: [{ name: 's', image: 'i', envFrom: [{ secretRef: { name } }] }],
  }),
  'a variable of an init container': (name) => ({
    initContainers: [
      { name: 's', image: 'i', env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'k' } } }] },
    ],
  }),
};
const volume = (name: string): ResourceSpec => ({ volumes: [{ name: 'v', secret: { secretName: name } }] });
const claim = (claimName: string): ResourceSpec => ({
  volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
});
const wanting = (resourceSpec: ResourceSpec, more: Partial<AgentDeployment['spec']> = {}): AgentDeployment =>
  deployment({ sourceConfig: { resourceSpec }, ...more });
const secret = (name: string, type = 'Opaque'): Secret => ({
  metadata: { name, namespace: 'ws-x', uid: name },
  type,
});

/** Secrets of a namespace beside the deployments a and b. */
const SECRETS: Readonly<Record<string, Secret>> = Object.fromEntries(
  [
    secret('words'),
    secret('shop-database'),
    secret('keys', SECRET_TYPE.destinationCredentials),
    secret('hook', SECRET_TYPE.webhookSecret),
    secret('git', SECRET_TYPE.gitIntegrations),
    secret('login', BUILD_LOGIN_TYPE),
    secret('listener', LISTENER_KEY_TYPE),
    secret('pull'),
  ].map((one) => [one.metadata.name, one]),
);

function judge(one: AgentDeployment, more: Partial<NamingDeployment> = {}) {
  const other = deployment({}, { name: 'b', uid: 'v' });
  const first = revision(1);
  const env = { ...first, spec: { ...first.spec, envSecretName: 'a-00001-env' } };
  return findRefusedObject({
    deployment: one,
    revisions: [],
    variables: undefined,
    isRemote: false,
    caches: {
      deployments: { list: () => [one, other] },
      revisions: { list: () => [env] },
      destinations: { list: () => [] },
    },
    registrySecrets: ['pull'],
    findSecret: (name) => Promise.resolve(SECRETS[name]),
    ...more,
  });
}

describe('findRefusedObject', () => {
  it.each(Object.keys(WAYS))('finds a Secret of the platform in %s', async (way) => {
    const spec = WAYS[way] ?? volume;
    expect(await judge(wanting(spec('keys')))).toEqual({ kind: 'Secret', name: 'keys', why: 'platform' });
    expect(await judge(wanting(spec('words')))).toBeUndefined();
  });

  it.each([
    ['keys', 'platform'],
    ['hook', 'platform'],
    ['git', 'platform'],
    ['login', 'platform'],
    ['listener', 'platform'],
    ['pull', 'platform'],
    // what its pods have anyway, a superuser is not
    ['a-database', undefined],
    ['a-platform', undefined],
    ['a-postgres', 'platform'],
    ['b-platform', 'platform'],
    ['b-database', 'platform'],
    ['b-postgres', 'platform'],
    ['a-00001-env', 'platform'],
    ['a-1-build', 'platform'],
    // made later, by anyone who creates a deployment, a destination or a listener of that name
    ['c-database', 'missing'],
    ['c-00001-env', 'missing'],
    ['c-credentials', 'missing'],
    ['listener-default-key', 'missing'],
    ['git-integrations', 'missing'],
    // a Secret that a person made stays in the way of the platform's own
    ['shop-database', undefined],
    ['absent', undefined],
  ])('judges the Secret %s: %s', async (name, why) => {
    const expected = why === undefined ? undefined : { kind: 'Secret', name, why };
    expect(await judge(wanting(volume(name)))).toEqual(expected);
  });

  it.each([
    ['c-database', 'reserved'],
    ['shop-database', 'reserved'],
    ['listener-far-hub', 'reserved'],
    ['b-database', 'platform'],
    ['c-credentials', undefined],
    // of the cluster of the resources, which its pods never see
    ['keys', undefined],
  ])('judges the Secret %s of another cluster by its name: %s', async (name, why) => {
    const findSecret = () => Promise.reject(new Error('asked for a Secret of the wrong cluster'));
    const expected = why === undefined ? undefined : { kind: 'Secret', name, why };
    expect(await judge(wanting(volume(name)), { isRemote: true, findSecret })).toEqual(expected);
  });

  it.each([
    ['keys', true],
    ['pull', true],
    ['words', false],
  ])('judges the variables in %s', async (name, isRefused) => {
    const found = await judge(wanting({}, { secretsRef: { name } }), { variables: SECRETS[name] });
    expect(found).toEqual(isRefused ? { kind: 'Secret', name, why: 'platform' } : undefined);
  });

  it('leaves the Secrets that images are pulled with alone', async () => {
    expect(await judge(wanting({ imagePullSecrets: [{ name: 'pull' }] }))).toBeUndefined();
  });

  it.each([
    ['b-postgres', 'platform'],
    ['c-postgres', 'reserved'],
    ['files', undefined],
  ])('judges the claim %s: %s', async (name, why) => {
    const expected = why === undefined ? undefined : { kind: 'PersistentVolumeClaim', name, why };
    expect(await judge(wanting(claim(name)))).toEqual(expected);
  });

  it('judges the revision that is asked for once more, until it was made', async () => {
    const id = '11111111-1111-4111-8111-111111111111';
    const asking = wanting({}, { revisionRequest: { id, fromRevisionId: 'id-1' } });
    const former = revision(1);
    const repeated = { ...former, spec: { ...former.spec, resourceSpec: volume('keys') } };
    const ids = { annotations: { 'agentplane.dev/id': 'id-1' } };
    const known = { ...repeated, metadata: { ...repeated.metadata, ...ids } };
    expect(await judge(asking, { revisions: [known] })).toEqual({
      kind: 'Secret',
      name: 'keys',
      why: 'platform',
    });
    const handled = { ...asking, status: { ...asking.status, handledRevisionRequestId: id } };
    expect(await judge(handled, { revisions: [known] })).toBeUndefined();
  });

  it('asks for no more Secrets than it may', async () => {
    const names = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ name: `v-${n}`, secret: { secretName: `s-${n}` } }));
    let asked = 0;
    const findSecret = () => {
      asked++;
      return Promise.resolve(undefined);
    };
    const judged = (count: number) => judge(wanting({ volumes: names(count) }), { findSecret });
    expect(await judged(MAX_NAMED_SECRETS)).toBeUndefined();
    expect(asked).toBe(MAX_NAMED_SECRETS);
    expect(await judged(MAX_NAMED_SECRETS + 1)).toEqual({ kind: 'too-many', count: MAX_NAMED_SECRETS + 1 });
    expect(asked).toBe(MAX_NAMED_SECRETS);
  });
});
