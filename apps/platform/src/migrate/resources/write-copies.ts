import { type Draft, isAlreadyExists, isNotFound, type KubeClient } from '#lib/kube';
import {
  ANNOTATION,
  type KubeObject,
  LABEL,
  MANAGED_BY,
  NAMESPACES,
  type ResourceRef,
  RESOURCES,
  SECRETS,
  type Workspace,
} from '#lib/resources';
import type { WorkspaceCopies } from './decide-copies.js';

/** Says which object was made. */
export type Progress = (what: string) => void;

/**
 * Makes copies where they are missing. A Workspace that is marked as being copied is the intent: it is
 * written first, and the mark is taken off last. After a crash the same call continues: objects with the mark
 * of this source are left unchanged.
 * @throws Error when the target has a workspace of that name or tenant, or an object in the way, that is not of this copy
 */
export async function writeCopies(
  client: KubeClient,
  copies: WorkspaceCopies,
  made: Progress,
): Promise<void> {
  await refuseTaken(client, copies);
  const from = copies.workspace.metadata.annotations?.[ANNOTATION.copiedFrom] ?? '';
  await ensure(client, RESOURCES.Workspace, copies.workspace, from, made);
  await ensureNamespace(client, copies);
  for (const { ref, draft } of copies.objects) await ensure(client, ref, draft, from, made);
  for (const { secret, owner } of copies.adoptions) {
    const { namespace } = copies;
    const found = await client.get(owner.ref, { namespace, name: owner.name });
    await client.mergeMetadata(
      SECRETS,
      { namespace, name: secret },
      { ownerReferences: [referenceTo(owner.ref, found)] },
    );
  }
  const { name = '' } = copies.workspace.metadata;
  await client.mergeMetadata(RESOURCES.Workspace, { name }, { annotations: { [ANNOTATION.copying]: null } });
}

/** Refuses a taken name before anything is written. */
async function refuseTaken(client: KubeClient, { workspace }: WorkspaceCopies): Promise<void> {
  const { metadata, spec } = workspace;
  const { name = '', annotations } = metadata;
  for (const other of await listWorkspaces(client)) {
    const isSame = other.metadata.name === name;
    const of = other.metadata.annotations ?? {};
    const isCopy = isSame && of[ANNOTATION.copiedFrom] === annotations?.[ANNOTATION.copiedFrom];
    if (isCopy && of[ANNOTATION.copying] !== undefined) continue;
    if (isCopy) throw new Error(`workspace ${name} was copied completely before; nothing was changed`);
    if (isSame)
      throw new Error(`the other installation has a workspace ${name} already; choose another name by --as`);
    if (other.spec.tenantId.toLowerCase() === spec.tenantId.toLowerCase())
      throw new Error(
        `tenant ${spec.tenantId} is that of workspace ${other.metadata.name} of the other installation; nothing was changed`,
      );
  }
}

async function listWorkspaces(client: KubeClient): Promise<readonly Workspace[]> {
  try {
    return (await client.list(RESOURCES.Workspace)).items;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new Error('the other API server has no kind Workspace: install the platform there first', {
      cause: error,
    });
  }
}

/** The namespace as the controller makes it, which may be at work there or not. */
async function ensureNamespace(client: KubeClient, { workspace, namespace }: WorkspaceCopies): Promise<void> {
  const { metadata, spec } = workspace;
  const labels = {
    [LABEL.workspace]: metadata.name ?? '',
    [LABEL.tenant]: spec.tenantId,
    [LABEL.managedBy]: MANAGED_BY,
  };
  try {
    await client.create(NAMESPACES, { metadata: { name: namespace, labels } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const found = await client.get(NAMESPACES, { name: namespace });
    if (found.metadata.labels?.[LABEL.tenant] !== spec.tenantId)
      throw new Error(
        `namespace ${namespace} of the other installation belongs to another owner; choose another name by --as`,
        { cause: error },
      );
  }
}

async function ensure<T extends KubeObject>(
  client: KubeClient,
  ref: ResourceRef<T>,
  draft: Draft<NoInfer<T>>,
  from: string,
  made: Progress,
): Promise<void> {
  const { name = '', namespace } = draft.metadata;
  const key = { name, ...(namespace === undefined ? {} : { namespace }) };
  const what = `${ref.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
  const found = await client.find(ref, key);
  if (!found) {
    await client.create(ref, draft);
    made(what);
  } else if (found.metadata.annotations?.[ANNOTATION.copiedFrom] !== from)
    throw new Error(`${what} of the other installation is not of this copy; delete or rename it`);
}

function referenceTo({ group, version, kind }: ResourceRef, { metadata }: KubeObject) {
  return { apiVersion: `${group}/${version}`, kind, name: metadata.name, uid: metadata.uid ?? '' };
}
