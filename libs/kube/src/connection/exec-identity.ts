import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { wholeEnvironment } from '#lib/config';
import type { Clock } from '#lib/time';
import { certificateOnly, type KubeConnection } from './kube-connection.js';

/** `users[].user.exec` of a kubeconfig. */
export interface ExecPlugin {
  readonly apiVersion?: string;
  readonly command?: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly provideClusterInfo?: boolean;
  readonly installHint?: string;
}

interface ExecPlace {
  /** Folder of the kubeconfig: a command with a slash in it is relative to it. */
  readonly folder: string;
  /** Cluster information for a plugin that asks for it. */
  readonly cluster: object;
  readonly clock: Clock;
}

interface Credential {
  readonly token?: string;
  readonly clientCertificateData?: string;
  readonly clientKeyData?: string;
  readonly expirationTimestamp?: string;
}

const VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const PATIENCE_MS = 60_000;
/** A token is asked for anew a little before it ends, so that none ends on its way. */
const EARLY_MS = 10_000;

/**
 * The identity that an exec plugin gives, as `kubectl` asks for it: never interactively, again when it has ended
 * or the server has refused it.
 * A client certificate is the first one for the life of the connection.
 */
export async function execIdentity(
  plugin: ExecPlugin,
  place: ExecPlace,
): Promise<Pick<KubeConnection, 'auth' | 'clientCertificate' | 'clientKey'>> {
  let known: Promise<Credential> | undefined;
  let endsAtMs = Infinity;
  const credential = async (): Promise<Credential> => {
    if (known && place.clock.now().getTime() < endsAtMs) return await known;
    endsAtMs = Infinity;
    const asked = ask(plugin, place);
    known = asked;
    try {
      const found = await asked;
      if (found.expirationTimestamp !== undefined)
        endsAtMs = Date.parse(found.expirationTimestamp) - EARLY_MS;
      return found;
    } catch (error) {
      known = undefined;
      throw error;
    }
  };
  const first = await credential();
  const { clientCertificateData: certificate, clientKeyData: key } = first;
  return {
    ...(certificate === undefined ? {} : { clientCertificate: certificate }),
    ...(key === undefined ? {} : { clientKey: key }),
    auth:
      first.token === undefined
        ? certificateOnly
        : {
            authorization: async () => `Bearer ${(await credential()).token ?? ''}`,
            rejected: () => (known = undefined),
          },
  };
}

async function ask(plugin: ExecPlugin, place: ExecPlace): Promise<Credential> {
  const { apiVersion = '', command, args, env, provideClusterInfo, installHint } = plugin;
  if (!command) throw new Error('the exec plugin of the kubeconfig names no command');
  if (!VERSIONS.includes(apiVersion))
    throw new Error(`the exec plugin ${command} speaks ${apiVersion || 'no version'}, not ${VERSIONS[0]}`);
  const info = {
    apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(provideClusterInfo ? { cluster: place.cluster } : {}) },
  };
  const printed = await run(
    command.includes('/') ? resolve(place.folder, command) : command,
    args ?? [],
    wholeEnvironment({
      ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    }),
    installHint,
  );
  return parseCredential(command, printed);
}

function run(
  program: string,
  args: readonly string[],
  env: Record<string, string | undefined>,
  hint: string | undefined,
): Promise<string> {
  return new Promise((resolvePrinted, reject) => {
    const options = { env, timeout: PATIENCE_MS, maxBuffer: 1024 ** 2 };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (!error) return resolvePrinted(stdout);
      const isMissing = error.code === 'ENOENT';
      const more = isMissing ? 'it is not installed' : stderr.trim().slice(0, 500) || error.message;
      reject(new Error(`the exec plugin ${program} failed: ${more}${hint ? `\n${hint}` : ''}`));
    });
    child.stdin?.end();
  });
}

function parseCredential(command: string, printed: string): Credential {
  let status: Credential | undefined;
  try {
    status = (JSON.parse(printed) as { readonly status?: Credential }).status;
  } catch {
    // its output is not part of the message: it may hold a token
    throw new Error(`the exec plugin ${command} failed: it printed no JSON`);
  }
  if (!status?.token && !(status?.clientCertificateData && status.clientKeyData))
    throw new Error(
      `the exec plugin ${command} failed: it gave neither a token nor a certificate with its key`,
    );
  return status;
}
