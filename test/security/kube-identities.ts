import { createHmac, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROLE_BINDINGS, SERVICE_ACCOUNTS } from '#lib/resources';
import type { Arena } from './arena.js';
import type { Identity } from './https-caller.js';

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
  }[];
  readonly users: readonly {
    readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string };
  }[];
}

function decoded(base64: string | undefined): string {
  return Buffer.from(base64 ?? '', 'base64').toString('utf8');
}

function readKubeconfig(path: string) {
  const { clusters, users } = JSON.parse(readFileSync(path, 'utf8')) as Kubeconfig;
  return {
    server: new URL(clusters[0]?.cluster.server ?? ''),
    ca: decoded(clusters[0]?.cluster['certificate-authority-data']),
    cert: decoded(users[0]?.user['client-certificate-data']),
    key: decoded(users[0]?.user['client-key-data']),
  };
}

/** Every identity that an attacker could hold or forge. */
export interface KubeIdentities {
  readonly server: URL;
  readonly ca: string;
  readonly anonymous: Identity;
  /** `admin` of the attacker's namespace. */
  readonly namespaceAdmin: Identity;
  readonly listener: Identity;
  readonly node: Identity;
  /** In `system:masters`; only to make objects. */
  readonly master: Identity;
  readonly nodeName: string;
  /** Tokens that open nothing, by what is wrong with them. */
  readonly badTokens: Readonly<Record<string, string>>;
}

export async function findIdentities({ platform, kube, attacker }: Arena): Promise<KubeIdentities> {
  const { dataFolder, credentials } = platform;
  const { namespace } = attacker;
  await kube.create(SERVICE_ACCOUNTS, { metadata: { name: 'owner', namespace } });
  await kube.create(ROLE_BINDINGS, {
    metadata: { name: 'owner', namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'owner', namespace }],
  });
  const { server, ca, cert, key } = readKubeconfig(credentials.kubeconfig);
  const node = readKubeconfig(join(dataFolder, 'node', 'kubeconfig'));
  const { name: nodeName } = JSON.parse(readFileSync(join(dataFolder, 'node', 'node.json'), 'utf8')) as {
    readonly name: string;
  };
  const owner = await kube.createToken({ namespace, name: 'owner' });
  const listener = await kube.createToken({ namespace, name: 'listener-default' });
  const elsewhere = await kube.createToken({ namespace, name: 'owner' }, { audiences: ['elsewhere'] });
  return {
    server,
    ca,
    nodeName,
    anonymous: {},
    master: { cert, key },
    namespaceAdmin: { token: owner.token },
    listener: { token: listener.token },
    node: { cert: node.cert, key: node.key },
    badTokens: { ...forged(owner.token, dataFolder), 'a token for another audience': elsewhere.token },
  };
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Tokens that say they are the controller's. */
function forged(good: string, dataFolder: string): Readonly<Record<string, string>> {
  const [head = '', payload = '', signature = ''] = good.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
  const controller = encoded({
    ...claims,
    sub: 'system:serviceaccount:agentplane-system:controller',
    'kubernetes.io': { namespace: 'agentplane-system', serviceaccount: { name: 'controller' } },
  });
  const publicKey = createPublicKey(readFileSync(join(dataFolder, 'secrets', 'service-account.key')));
  const secret = publicKey.export({ type: 'spki', format: 'pem' });
  const symmetric = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${controller}`;
  return {
    garbage: 'garbage',
    'three empty parts': '..',
    'three parts of nothing': 'a.b.c',
    'no algorithm': `${encoded({ alg: 'none', typ: 'JWT' })}.${controller}.`,
    'no algorithm in another case': `${encoded({ alg: 'nOnE', typ: 'JWT' })}.${controller}.`,
    'no algorithm with a signature': `${encoded({ alg: 'none', typ: 'JWT' })}.${controller}.${signature}`,
    'the public key as a shared secret': `${symmetric}.${createHmac('sha256', secret).update(symmetric).digest('base64url')}`,
    'a changed payload': `${head}.${controller}.${signature}`,
    'no signature': `${head}.${payload}.`,
    'a changed signature': `${head}.${payload}.${signature.slice(0, -8)}AAAAAAAA`,
    'a key of its own in the header': `${encoded({ alg: 'ES256', jwk: publicKey.export({ format: 'jwk' }), kid: '../../dev/null' })}.${controller}.${signature}`,
  };
}
