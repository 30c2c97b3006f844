import type { StoreGrant, StoreUserFile } from '#lib/embedded-object-store';
import { ATTACHMENT_BUCKET, ATTACHMENT_PREFIX } from '#lib/data-folder';
import type { BulkExportDestination, DestinationConfig } from '#lib/resources';
import type { StoreKeys } from './bootstrap-objects.js';

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

/** The key that the api keeps attachments of runs with: it reaches them and nothing else. */
export function ensureKeeper(users: StoreUserFile): StoreKeys {
  const { accessKeyId, secretAccessKey } = users.ensure(KEEPER, [
    { bucket: ATTACHMENT_BUCKET, prefix: ATTACHMENT_PREFIX, actions: ['write', 'read', 'delete'] },
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
