import { writeFileSync } from 'node:fs';
import { errorText } from '#lib/errors';
import { isNotFound, KubeApiError, type KubeClient, type KubeConnection, type Untyped } from '#lib/kube';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  isConditionTrue,
  NAMESPACES,
  type ResourceRef,
  ROLE_BINDINGS,
  ROLES,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { ManifestObject } from './bootstrap-objects.js';

/**
 * Failures on objects that a tenant can break. They are that tenant's trouble: the platform names them, and
 * starts for everybody else.
 */
export class Troubles {
  readonly #texts: string[] = [];

  get texts(): readonly string[] {
    return this.#texts;
  }

  add(text: string): void {
    this.#texts.push(text);
  }

  /**
   * @param object kind, namespace and name
   * @throws errors that are no answer of the API server about this object
   */
  async attempt(object: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof KubeApiError)) throw error;
      this.add(`preparing ${object} failed: ${errorText(error)}; mend or delete that object, then restart`);
    }
  }
}

const KINDS: readonly ResourceRef[] = [
  NAMESPACES,
  SERVICE_ACCOUNTS,
  ROLES,
  ROLE_BINDINGS,
  CLUSTER_ROLES,
  CLUSTER_ROLE_BINDINGS,
  CUSTOM_RESOURCE_DEFINITIONS,
];

const TOKEN_SECONDS = 365 * 24 * 3600;
const ESTABLISHED_WITHIN_MS = 15_000;

function refOf({ kind }: ManifestObject): ResourceRef<Untyped> {
  const ref = KINDS.find((one) => one.kind === kind);
  if (!ref) throw new Error(`kind ${kind} is not allowed in a manifest of the platform`);
  return ref as ResourceRef<Untyped>;
}

/** Applies manifests in their order. */
export async function applyManifests(
  client: KubeClient,
  manifests: readonly ManifestObject[],
): Promise<void> {
  for (const manifest of manifests) await client.apply<Untyped>(refOf(manifest), { ...manifest });
}

function isEstablished({ status }: CustomResourceDefinition): boolean {
  return isConditionTrue(status?.conditions, 'Established');
}

/** Applies definitions, all at once, and waits until their kinds are served. */
export async function applyDefinitions(
  client: KubeClient,
  definitions: readonly ManifestObject[],
  clock: Clock,
): Promise<void> {
  await Promise.all(definitions.map((definition) => applyManifests(client, [definition])));
  const deadline = clock.monotonicMs() + ESTABLISHED_WITHIN_MS;
  for (const { metadata } of definitions) {
    while (!isEstablished(await client.get(CUSTOM_RESOURCE_DEFINITIONS, { name: metadata.name }))) {
      if (clock.monotonicMs() > deadline)
        throw new Error(
          `CustomResourceDefinition ${metadata.name} was not established within ${ESTABLISHED_WITHIN_MS / 1000} s`,
        );
      await clock.sleep(50);
    }
  }
}

/** A kind that was established a moment ago may still be unknown to some endpoints of a real API server. */
export async function retryUnserved<T>(clock: Clock, call: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (!isNotFound(error) || tries >= 40) throw error;
      await clock.sleep(100);
    }
  }
}

/** Writes a kubeconfig (0600) of a service account, with a token of its own. */
export async function writeServiceAccountKubeconfig(
  client: KubeClient,
  connection: KubeConnection,
  account: { readonly namespace: string; readonly name: string },
  path: string,
): Promise<void> {
  const { token } = await client.createToken(account, { expirationSeconds: TOKEN_SECONDS });
  const ca = connection.ca === undefined ? {} : { 'certificate-authority-data': base64(connection.ca) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'agentplane', cluster: { server: connection.server, ...ca } }],
    users: [{ name: account.name, user: { token } }],
    contexts: [
      {
        name: 'agentplane',
        context: { cluster: 'agentplane', user: account.name, namespace: account.namespace },
      },
    ],
    'current-context': 'agentplane',
  };
  // JSON is YAML too
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
