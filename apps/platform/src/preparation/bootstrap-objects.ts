import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import {
  ATTACHMENT_BUCKET,
  ATTACHMENT_PREFIX,
  FIRST_WORKSPACE,
  LAKE_PREFIX,
  type StoreCredentials,
} from '#lib/data-folder';
import {
  API_VERSION,
  type BulkExportDestination,
  DEFAULT_LISTENER,
  type DestinationConfig,
  LABEL,
  type Listener,
  MANAGED_BY,
  type Secret,
  SECRET_TYPE,
  type Workspace,
} from '#lib/resources';
import type { StoreGrant, StoreUserFile } from '#lib/embedded-object-store';

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

const OPERATOR = 'operator';
/** No destination is called so: theirs have a namespace and a slash. */
const KEEPER = 'attachments';

/** Reads and writes objects of every bucket: who has this key has the data folder. */
const OPERATOR_GRANTS: readonly StoreGrant[] = [
  { bucket: '*', prefix: '', actions: ['write', 'read', 'list', 'delete'] },
];

/**
 * The operator's key. A data folder from before there were users has one key for everything, which stood where agents
 * could mount it: it opens nothing any more, and destinations that use it are moved over at this start.
 */
export function ensureOperator(users: StoreUserFile, knownKey: string | undefined): StoreKeys {
  if (users.isEmpty && knownKey !== undefined) users.retire(knownKey);
  const { accessKeyId, secretAccessKey } = users.ensure(OPERATOR, OPERATOR_GRANTS);
  return { accessKeyId, secretAccessKey };
}

/** The platform's own key: it reaches attachments of runs and sealed days, and nothing else. */
export function ensureKeeper(users: StoreUserFile): StoreKeys {
  const { accessKeyId, secretAccessKey } = users.ensure(KEEPER, [
    { bucket: ATTACHMENT_BUCKET, prefix: ATTACHMENT_PREFIX, actions: ['write', 'read', 'delete'] },
    { bucket: ATTACHMENT_BUCKET, prefix: LAKE_PREFIX, actions: ['write', 'read', 'list', 'delete'] },
  ]);
  return { accessKeyId, secretAccessKey };
}

/** True when keys are the operator's, the secret one too. */
export function isOperator(users: StoreUserFile, { accessKeyId, secretAccessKey }: StoreKeys): boolean {
  const operator = users.findNamed(OPERATOR);
  return operator?.accessKeyId === accessKeyId && operator.secretAccessKey === secretAccessKey;
}

/** The key that exports to a destination of the embedded store write with. */
export function ensureWriter(users: StoreUserFile, destination: BulkExportDestination): StoreKeys {
  const { accessKeyId, secretAccessKey } = users.ensure(
    writerName(destination),
    writerGrants(destination.spec.config),
  );
  return { accessKeyId, secretAccessKey };
}

/** The key of `ensureWriter` where there is one, with the rights that it has. */
export function findWriter(users: StoreUserFile, destination: BulkExportDestination): StoreKeys | undefined {
  return users.findNamed(writerName(destination));
}

function writerName({ metadata }: BulkExportDestination): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

/**
 * Rights of an export: it writes and reads under the destination's prefix. The metadata of a table are read to add to them,
 * and the catalogue signs reads of its files. Only the object that tries the destination out is removed.
 */
function writerGrants({ bucketName, prefix = '' }: DestinationConfig): readonly StoreGrant[] {
  const root = prefix.replace(/^\/+|\/+$/g, '');
  return [
    { bucket: bucketName, prefix: root, actions: ['write', 'stat', 'read'] },
    { bucket: bucketName, prefix: root === '' ? 'tmp' : `${root}/tmp`, actions: ['delete'] },
  ];
}
