import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { FIRST_WORKSPACE, type StoreCredentials } from '#lib/data-folder';
import {
  API_VERSION,
  type BulkExportDestination,
  DEFAULT_LISTENER,
  LABEL,
  type Listener,
  MANAGED_BY,
  type Secret,
  SECRET_TYPE,
  type Workspace,
} from '#lib/resources';

/** The BulkExportDestination of the embedded object store. */
export const LOCAL_DESTINATION = 'local';
const LOCAL_CREDENTIALS = 'local-destination';
const LOCAL_PREFIX = 'exports';

/** Any object of a manifest file. */
export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

function parseManifests(path: string): ManifestObject[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => document.toJS() as ManifestObject);
}

/** The definitions of the platform's kinds. */
export function resourceDefinitions(installation: string): ManifestObject[] {
  const folder = join(installation, 'crds');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .flatMap((name) => parseManifests(join(folder, name)));
}

/** Namespace, service accounts and rights of the platform's own programs. */
export function systemObjects(installation: string): ManifestObject[] {
  return parseManifests(join(installation, 'deploy', 'system.yaml'));
}

/**
 *
 * @param allowEnvironmentCredentials true when its exports may use the credentials of the user who installed
 * the platform
 */
export function firstWorkspace(tenantId: string, allowEnvironmentCredentials: boolean): Workspace {
  return {
    apiVersion: API_VERSION,
    kind: 'Workspace',
    metadata: { name: FIRST_WORKSPACE },
    spec: {
      tenantId,
      displayName: 'Default workspace',
      plan: 'enterprise',
      allowEnvironmentCredentials,
    },
  };
}

export function firstListener(namespace: string): Listener {
  return {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: DEFAULT_LISTENER, namespace },
    spec: { computeType: 'cluster', computeId: 'local' },
  };
}

/** A key of the embedded store. */
export type StoreKeys = Pick<StoreCredentials, 'accessKeyId' | 'secretAccessKey'>;

/** The Secret of the key that exports of the first workspace write with. */
export function localCredentials(namespace: string, keys: StoreKeys): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: LOCAL_CREDENTIALS, namespace, labels: { [LABEL.managedBy]: MANAGED_BY } },
    type: SECRET_TYPE.destinationCredentials,
    data: storeKeyData(keys),
  };
}

/** A key as the Secret of a destination holds it. */
export function storeKeyData({ accessKeyId, secretAccessKey }: StoreKeys): Record<string, string> {
  const encoded = (text: string): string => Buffer.from(text, 'utf8').toString('base64');
  return { access_key_id: encoded(accessKeyId), secret_access_key: encoded(secretAccessKey) };
}

export function localDestination(namespace: string, store: StoreCredentials): BulkExportDestination {
  return {
    apiVersion: API_VERSION,
    kind: 'BulkExportDestination',
    metadata: { name: LOCAL_DESTINATION, namespace },
    spec: {
      displayName: 'Embedded object store',
      type: 'object_store',
      config: {
        bucketName: store.bucket,
        prefix: LOCAL_PREFIX,
        region: store.region,
        endpointUrl: store.endpoint,
        includeBucketInPrefix: true,
      },
      credentialsSecretRef: { name: LOCAL_CREDENTIALS },
    },
  };
}
