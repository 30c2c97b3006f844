import { PLATFORM_VERSION } from '#lib/config';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packagesOf } from '#lib/data-folder';
import type { ApiServer, KubeIdentity } from '#lib/embedded-kube';
import { openImageStore } from '#lib/image-store';
import { Informers, KubeClient, type KubeConnection, loadKubeConnection, startControllers } from '#lib/kube';
import type { ProgramContext } from '#lib/lifecycle';
import {
  createServiceProxy,
  ensureNodeIdentity,
  type ServingIdentity,
  startNode,
  type UserRange,
} from '#lib/process-runtime';
import { FIELD_MANAGER, LABEL, type Service, SERVICES, CONFIG_MAPS } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import type { EmbeddedConfig } from './config.js';
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;
const VALID_DAYS = 365;

/**
 * Identity for a foreign cluster: a self-signed certificate, made anew at every start (API servers take any
 * from a node unless configured otherwise), and the CA of the API server's client certificates, which
 * clusters publish in `kube-system`.
 */
async function servingIdentityFor(connection: KubeConnection, nodeName: string): Promise<ServingIdentity> {
  const client = new KubeClient(connection);
  const published = await client.find(CONFIG_MAPS, {
    namespace: 'kube-system',
    name: 'extension-apiserver-authentication',
  });
  await client.close();
  return {
    ...(await selfSigned(nodeName)),
    clientCa: published?.data?.['client-ca-file'] ?? connection.ca ?? '',
  };
}

async function selfSigned(name: string): Promise<Omit<ServingIdentity, 'clientCa'>> {
  const { X509CertificateGenerator, SubjectAlternativeNameExtension, PemConverter } =
    await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const now = systemClock.now().getTime();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + VALID_DAYS * DAY_MS),
    extensions: [
      new SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        { type: 'dns', value: name },
      ]),
    ],
  });
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certificate: certificate.toString('pem'), privateKey: PemConverter.encode(key, 'PRIVATE KEY') };
}

/** Young objects of small programs die young: a small nursery halves their memory at no cost that was measured. */
const NODE_ARGUMENTS = ['--max-semi-space-size=4'];

/** The last that Node can start a process as. */
const MAX_USER = 2_147_483_647;

/**
 * This machine as a node: pods run as processes, Services get ports on loopback. The node's state is written before the
 * Services are served, so that no request goes to a pod of the last life.
 * @param server the embedded API server; without it the machine joins the cluster of the configured kubeconfig
 */
export async function startMachine(
  config: EmbeddedConfig,
  server: ApiServer | undefined,
  log: Logger,
  context: ProgramContext,
): Promise<void> {
  const clock = systemClock;
  const folder = join(config.dataFolder, 'node');
  const { name } = ensureNodeIdentity(folder);
  const connection = server ? await nodeConnection(server, folder, name) : await ownCluster(config);
  const images = openImageStore({
    folder: join(config.dataFolder, 'images'),
    installation: config.installation,
    clock,
  });
  const serving = server ? await embeddedIdentity(server, name) : await servingIdentityFor(connection, name);
  const node = await startNode({
    connection,
    folder,
    images,
    serving,
    log,
    clock,
    port: config.nodePort,
    isJoined: server === undefined,
    version: PLATFORM_VERSION,
    nodeArguments: NODE_ARGUMENTS,
    spares: config.spares,
    users: { ranges: podUsers(config.podUsers), programs: programsOf(config) },
  });
  context.own(node);

  const ownConnection = server ? await proxyConnection(server, folder) : connection;
  const client = new KubeClient(ownConnection, { fieldManager: FIELD_MANAGER.node, clock });
  const informers = new Informers({ client, log, clock });
  const proxy = createServiceProxy({
    informers,
    client,
    clock,
    log,
    file: join(folder, 'services.json'),
    node,
  });
  context.own(proxy);
  const services = informers.of(SERVICES);
  services.on(({ kind, object }) => {
    const { namespace = '' } = object.metadata;
    const isUsed = services.list().some((one) => one.metadata.namespace === namespace && isAgent(one));
    if (kind === 'deleted' && isAgent(object) && !isUsed) node.forgetSpares(namespace);
  });
  context.own(await startControllers({ informers, controllers: [proxy.controller], log, clock }));
}

/** True for the Service of a deployment, which is there while the deployment sleeps too. */
function isAgent({ metadata }: Service): boolean {
  return metadata.labels?.[LABEL.deployment] !== undefined;
}

/** `FIRST-LAST,…`; no range for `none`. */
function podUsers(text: string): readonly UserRange[] {
  if (text === 'none') return [];
  return text.split(',').map((range) => {
    const [first = 0, last = 0] = /^(\d+)-(\d+)$/.exec(range)?.slice(1).map(Number) ?? [];
    if (first < 1 || last < first || last > MAX_USER)
      throw new Error(`AGENTPLANE_POD_USERS must be FIRST-LAST,… or none, but is ${JSON.stringify(text)}`);
    return { first, last };
  });
}

/** Paths that pods read beside their own folders. */
function programsOf({ installation, dataFolder }: EmbeddedConfig): readonly string[] {
  return [
    join(installation, 'dist', 'apps', 'agent-server', 'src', 'main.js'),
    packagesOf(installation),
    join(dataFolder, 'images'),
  ];
}

/** The node speaks for itself and has a node's rights, no more. */
async function nodeConnection(server: ApiServer, folder: string, name: string): Promise<KubeConnection> {
  const identity = { kind: 'certificate', user: `system:node:${name}`, groups: ['system:nodes'] } as const;
  return connectAs(server, identity, join(folder, 'kubeconfig'));
}

/** Services lead to the pods of every node, so that they are served under an identity of its own, which reads them. */
async function proxyConnection(server: ApiServer, folder: string): Promise<KubeConnection> {
  const identity = { kind: 'certificate', user: 'system:kube-proxy', groups: [] } as const;
  return connectAs(server, identity, join(folder, 'proxy.kubeconfig'));
}

async function connectAs(
  server: ApiServer,
  identity: KubeIdentity,
  kubeconfigPath: string,
): Promise<KubeConnection> {
  writeFileSync(kubeconfigPath, await server.kubeconfigFor(identity), { mode: 0o600 });
  return loadKubeConnection({ kubeconfigPath });
}

async function embeddedIdentity(server: ApiServer, name: string): Promise<ServingIdentity> {
  const issued = await server.issueServingCertificate(['127.0.0.1', name]);
  return { ...issued, clientCa: await server.caCertificate() };
}

function ownCluster({ kubeconfigPath }: EmbeddedConfig): Promise<KubeConnection> {
  if (kubeconfigPath === undefined)
    throw new Error('no API server configured: set AGENTPLANE_KUBE_DATABASE_URI or KUBECONFIG');
  return loadKubeConnection({ kubeconfigPath });
}
