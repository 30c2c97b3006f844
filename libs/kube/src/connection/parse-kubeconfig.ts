import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Clock } from '#lib/time';
import { execIdentity, type ExecPlugin } from './exec-identity.js';
import { oidcIdentity, type OidcLogin } from './oidc-identity.js';
import {
  certificateOnly,
  type KubeAuthorization,
  type KubeConnection,
  staticToken,
  tokenFile,
} from './kube-connection.js';

interface Named<K extends string, V> {
  readonly entries?: readonly ({ readonly name: string } & Partial<Readonly<Record<K, V>>>)[] | null;
}

interface Cluster {
  readonly server?: string;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'proxy-url'?: string;
}

interface User {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly exec?: ExecPlugin;
  readonly 'auth-provider'?: { readonly name?: string; readonly config?: OidcLogin };
  readonly as?: string;
}

interface Context {
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
}

interface Kubeconfig {
  readonly clusters?: Named<'cluster', Cluster>['entries'];
  readonly users?: Named<'user', User>['entries'];
  readonly contexts?: Named<'context', Context>['entries'];
  readonly 'current-context'?: string;
}

export interface KubeconfigText {
  readonly text: string;
  /** Relative file names in it are relative to its folder; named in errors. */
  readonly path: string;
  readonly context?: string;
  readonly clock: Clock;
}

/** The connection that a kubeconfig's context describes. */
export async function parseKubeconfig(source: KubeconfigText): Promise<KubeConnection> {
  const config = ((await parseText(source)) ?? {}) as Kubeconfig;
  const contextName = source.context ?? config['current-context'];
  const context = config.contexts?.find(({ name }) => name === contextName)?.context;
  if (!context) throw new Error(`${source.path} has no context ${JSON.stringify(contextName ?? '')}`);
  const cluster = config.clusters?.find(({ name }) => name === context.cluster)?.cluster;
  if (!cluster?.server) throw new Error(`${source.path} names no server for context ${contextName}`);
  const user = config.users?.find(({ name }) => name === context.user)?.user ?? {};
  // without them the requests would take another way, or be those of another user
  const unknown = [cluster['proxy-url'] ? 'proxy-url' : '', user.as ? 'as' : ''].filter(
    (name) => name !== '',
  );
  if (unknown.length > 0)
    throw new Error(
      `${source.path} has ${unknown.join(' and ')} in context ${contextName}, which is not supported: use a kubeconfig without it`,
    );

  const material = (data: string | undefined, file: string | undefined): Promise<string> | undefined => {
    if (data) return Promise.resolve(Buffer.from(data, 'base64').toString('utf8'));
    return file ? readFile(resolve(dirname(source.path), file), 'utf8') : undefined;
  };
  const ca = await material(cluster['certificate-authority-data'], cluster['certificate-authority']);
  const certificate = await material(user['client-certificate-data'], user['client-certificate']);
  const key = await material(user['client-key-data'], user['client-key']);
  return {
    server: cluster.server.replace(/(?<!\/)\/+$/, ''),
    namespace: context.namespace ?? 'default',
    ...(ca === undefined ? {} : { ca }),
    ...(cluster['tls-server-name'] ? { tlsServerName: cluster['tls-server-name'] } : {}),
    ...(cluster['insecure-skip-tls-verify'] ? { insecureSkipTlsVerify: true } : {}),
    ...(await identity({ ...user, name: context.user ?? '' }, source, { cluster, ca }, { certificate, key })),
  };
}

/**
 * Parses JSON without YAML: the kubeconfigs that the platform writes for its own programs are JSON, so that
 * they do without the YAML parser and its 4 MB.
 */
async function parseText({ text, path }: KubeconfigText): Promise<unknown> {
  try {
    if (text.startsWith('{')) return JSON.parse(text);
    const { parse } = await import('yaml');
    return parse(text);
  } catch {
    // the parser's message would show lines of a file that holds keys
    throw new Error(`reading kubeconfig ${path} failed: it is not YAML`);
  }
}

interface ClusterSeen {
  readonly cluster: Cluster;
  readonly ca: string | undefined;
}

interface Pair {
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

async function identity(
  user: User & { readonly name: string },
  source: KubeconfigText,
  { cluster, ca }: ClusterSeen,
  { certificate, key }: Pair,
): Promise<Pick<KubeConnection, 'auth' | 'clientCertificate' | 'clientKey'>> {
  if (user.exec)
    return await execIdentity(user.exec, {
      folder: dirname(source.path),
      clock: source.clock,
      cluster: {
        server: cluster.server,
        ...(ca === undefined
          ? {}
          : { 'certificate-authority-data': Buffer.from(ca, 'utf8').toString('base64') }),
        ...(cluster['tls-server-name'] ? { 'tls-server-name': cluster['tls-server-name'] } : {}),
        ...(cluster['insecure-skip-tls-verify'] ? { 'insecure-skip-tls-verify': true } : {}),
      },
    });
  const { name: provider, config: login = {} } = user['auth-provider'] ?? {};
  if (provider === 'oidc')
    return { auth: oidcIdentity(login, { path: source.path, user: user.name, clock: source.clock }) };
  if (provider !== undefined)
    throw new Error(
      `${source.path} asks for the auth provider ${provider}, which kubectl no longer has either: use an exec plugin, such as gke-gcloud-auth-plugin or kubelogin`,
    );
  return {
    auth: authorizationOf(user, source),
    ...(certificate === undefined ? {} : { clientCertificate: certificate }),
    ...(key === undefined ? {} : { clientKey: key }),
  };
}

function authorizationOf(user: User, source: KubeconfigText): KubeAuthorization {
  if (user.tokenFile) return tokenFile(resolve(dirname(source.path), user.tokenFile), source.clock);
  if (user.token) return staticToken(user.token);
  if (user.username) {
    const basic = Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64');
    return { authorization: () => Promise.resolve(`Basic ${basic}`) };
  }
  return certificateOnly;
}
