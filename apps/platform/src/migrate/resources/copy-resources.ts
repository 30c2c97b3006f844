import { visibleText } from '#lib/command-line';
import { type Draft, isAlreadyExists, isNotFound, type KubeClient, type Untyped } from '#lib/kube';
import {
  type AgentDeployment,
  type AgentRevision,
  ANNOTATION,
  BUILD_LOGIN_TYPE,
  type BulkExport,
  type BulkExportDestination,
  deploymentSecretNames,
  idOf,
  isConditionTrue,
  isDeleting,
  type KubeObject,
  LABEL,
  type Listener,
  LISTENER_KEY_TYPE,
  MANAGED_BY,
  NAMESPACES,
  type ResourceRef,
  RESOURCES,
  revisionBuildName,
  type Secret,
  SECRETS,
  type Workspace,
  workspaceNamespace,
} from '#lib/resources';

/** A workspace with the content of its namespace. */
export interface WorkspaceContent {
  readonly workspace: Workspace;
  readonly secrets: readonly Secret[];
  readonly listeners: readonly Listener[];
  readonly destinations: readonly BulkExportDestination[];
  readonly deployments: readonly AgentDeployment[];
  readonly revisions: readonly AgentRevision[];
  readonly exports: readonly BulkExport[];
}

/** Reads a workspace; what is being deleted is left out. */
export async function readWorkspace(client: KubeClient, workspace: Workspace): Promise<WorkspaceContent> {
  const namespace = workspaceNamespace(workspace.metadata.name);
  const list = async <T extends KubeObject>(ref: ResourceRef<T>): Promise<readonly T[]> =>
    (await client.list(ref, { namespace })).items.filter((object) => !isDeleting(object));
  const [secrets, listeners, destinations, deployments, revisions, exports] = await Promise.all([
    list(SECRETS),
    list(RESOURCES.Listener),
    list(RESOURCES.BulkExportDestination),
    list(RESOURCES.AgentDeployment),
    list(RESOURCES.AgentRevision),
    list(RESOURCES.BulkExport),
  ]);
  return { workspace, secrets, listeners, destinations, deployments, revisions, exports };
}

type DraftMeta = Draft<Untyped>['metadata'];

/** One object to make. */
export interface Copy {
  readonly ref: ResourceRef<Untyped>;
  readonly draft: Draft<Untyped>;
}

/** A Secret that goes with the object that owns it. */
export interface Adoption {
  readonly secret: string;
  readonly owner: { readonly ref: ResourceRef<Untyped>; readonly name: string };
}

/** Copies of a workspace elsewhere, in the order in which they are made. */
export interface WorkspaceCopies {
  readonly workspace: Draft<Workspace>;
  readonly namespace: string;
  readonly objects: readonly Copy[];
  readonly adoptions: readonly Adoption[];
  /** Tasks for a person, and things that are missing; names only. */
  readonly notes: readonly string[];
}

/** Names and origin of the copies. */
export interface CopyTarget {
  /** Name of the workspace there. */
  readonly name: string;
  /** The installation that they are copied from. */
  readonly from: string;
  /** Put before the names of images that only the machine has. */
  readonly imagePrefix: string | undefined;
}

/** The platform's annotations that say something about the object itself. */
const KEPT_ANNOTATIONS: ReadonlySet<string> = new Set([
  ANNOTATION.requestKey,
  ANNOTATION.requestHash,
  ANNOTATION.webhookSecret,
]);
const NOT_KEPT = /^(agentplane\.dev\/|kubectl\.kubernetes\.io\/)/;
const MADE_ANEW: ReadonlySet<string> = new Set([
  'kubernetes.io/service-account-token',
  LISTENER_KEY_TYPE,
  BUILD_LOGIN_TYPE,
]);
const OWNERS: readonly ResourceRef[] = [
  RESOURCES.AgentDeployment,
  RESOURCES.BulkExportDestination,
  RESOURCES.BulkExport,
];

/** Decides what a workspace becomes in another installation. Pure. */
export function decideCopies(content: WorkspaceContent, target: CopyTarget): WorkspaceCopies {
  const { workspace, listeners, destinations, deployments, exports } = content;
  const namespace = workspaceNamespace(target.name);
  const here = workspaceNamespace(workspace.metadata.name);
  const metadataOf = (object: KubeObject) => ({ ...copiedMetadata(object, target.from), namespace });
  const schedules = exports.filter(isOpenSchedule);
  const owners: readonly (readonly [ResourceRef, readonly KubeObject[]])[] = [
    [RESOURCES.BulkExportDestination, destinations],
    [RESOURCES.AgentDeployment, deployments],
    [RESOURCES.BulkExport, schedules],
  ];
  const secrets = content.secrets.filter((secret) => isCopied(secret, content));
  const objects = [
    ...secrets.map((secret) => copy(SECRETS, { ...secretPart(secret), metadata: metadataOf(secret) })),
    ...listeners.map((one) => copy(RESOURCES.Listener, { spec: one.spec, metadata: metadataOf(one) })),
    ...destinations.map((one) =>
      copy(RESOURCES.BulkExportDestination, { spec: one.spec, metadata: metadataOf(one) }),
    ),
    ...deployments.map((one) =>
      copy(RESOURCES.AgentDeployment, {
        spec: deploymentSpec(one, { here, there: namespace }, target.imagePrefix),
        metadata: metadataOf(one),
      }),
    ),
    ...schedules.map((one) =>
      copy(RESOURCES.BulkExport, { spec: scheduleSpec(one), metadata: metadataOf(one) }),
    ),
  ];
  return {
    workspace: {
      spec: workspace.spec,
      metadata: withAnnotation(
        { ...copiedMetadata(workspace, target.from), name: target.name },
        ANNOTATION.copying,
        'true',
      ),
    },
    namespace,
    objects,
    adoptions: secrets.flatMap((secret) => adoptionsOf(secret, owners)),
    notes: notesOf(content, target, schedules.length),
  };
}

function copy(ref: ResourceRef, draft: Omit<Draft<Untyped>, 'metadata'> & { metadata: DraftMeta }): Copy {
  return { ref: ref as ResourceRef<Untyped>, draft };
}

function withAnnotation(metadata: DraftMeta, name: string, value: string): DraftMeta {
  return { ...metadata, annotations: { ...metadata.annotations, [name]: value } };
}

/** The name, what people wrote on it, and its id: a cluster gives another uid. */
function copiedMetadata(object: KubeObject, from: string): DraftMeta {
  const { name, labels, annotations = {} } = object.metadata;
  const kept = Object.entries(annotations).filter(
    ([key]) => KEPT_ANNOTATIONS.has(key) || !NOT_KEPT.test(key),
  );
  const id = idOf(object);
  return {
    name,
    ...(labels ? { labels } : {}),
    annotations: {
      ...Object.fromEntries(kept),
      ...(id === undefined ? {} : { [ANNOTATION.id]: id }),
      [ANNOTATION.copiedFrom]: from,
    },
  };
}

/** A schedule that still makes exports. Other exports are left: they have files and rows, and a copy would run again. */
function isOpenSchedule({ spec, status }: BulkExport): boolean {
  const hasEnded = ['Completed', 'Failed'].some((type) => isConditionTrue(status?.conditions, type));
  return spec.intervalHours !== undefined && !spec.cancel && !hasEnded;
}

/** Secrets that the platform makes for a deployment are made anew, with a database and a key of that installation. */
function isCopied({ metadata, type = '' }: Secret, content: WorkspaceContent): boolean {
  const { name } = metadata;
  const owned = metadata.ownerReferences ?? [];
  return !(
    MADE_ANEW.has(type) ||
    content.deployments.some((one) => deploymentSecretNames(one.metadata.name).includes(name)) ||
    content.revisions.some(
      (one) => one.spec.envSecretName === name || revisionBuildName(one.metadata.name) === name,
    ) ||
    owned.some(({ kind }) => !OWNERS.some((ref) => ref.kind === kind))
  );
}

function secretPart({ type, immutable, data }: Secret): Record<string, unknown> {
  return {
    ...(type === undefined ? {} : { type }),
    ...(immutable === undefined ? {} : { immutable }),
    ...(data === undefined ? {} : { data }),
  };
}

function adoptionsOf(
  { metadata }: Secret,
  owners: readonly (readonly [ResourceRef, readonly KubeObject[]])[],
): readonly Adoption[] {
  return owners.flatMap(([ref, all]) =>
    all
      .filter((one) => metadata.ownerReferences?.some(({ uid }) => uid === one.metadata.uid))
      .map((one) => ({
        secret: metadata.name,
        owner: { ref: ref as ResourceRef<Untyped>, name: one.metadata.name },
      })),
  );
}

/** Suspended: its database is not there yet, and two installations must not serve one agent. */
function deploymentSpec(
  { spec }: AgentDeployment,
  namespaces: { readonly here: string; readonly there: string },
  prefix: string | undefined,
): AgentDeployment['spec'] {
  const { listenerConfig } = spec.sourceConfig;
  const isHome = listenerConfig?.clusterNamespace === namespaces.here;
  const { imageUri } = spec.sourceRevisionConfig;
  const isInternal = spec.source === 'internal_image' && prefix !== undefined;
  return {
    ...spec,
    suspend: true,
    ...(isInternal ? { source: 'external_image' } : {}),
    sourceConfig: {
      ...spec.sourceConfig,
      ...(isHome ? { listenerConfig: { ...listenerConfig, clusterNamespace: namespaces.there } } : {}),
    },
    sourceRevisionConfig: {
      ...spec.sourceRevisionConfig,
      ...(isInternal && imageUri !== undefined ? { imageUri: `${prefix}${imageUri}` } : {}),
    },
  };
}

/** Begins where the exports of the original end, with the same windows. */
function scheduleSpec({ spec, status }: BulkExport): BulkExport['spec'] {
  const startTime = status?.spawnedUntil ?? spec.startTime;
  return { ...spec, suspend: true, ...(startTime === undefined ? {} : { startTime }) };
}

function notesOf(
  { deployments, listeners, destinations, exports }: WorkspaceContent,
  { imagePrefix }: CopyTarget,
  schedules: number,
): readonly string[] {
  const internal = deployments.filter(({ spec }) => spec.source === 'internal_image');
  const rest = exports.length - schedules;
  return [
    ...(imagePrefix === undefined ? [] : internal).map(
      ({ metadata, spec }) =>
        `push ${imagePrefix}${visibleText(spec.sourceRevisionConfig.imageUri ?? '').replaceAll('\n', ' ')} for deployment ${metadata.name}: "agentplane image build" makes it`,
    ),
    ...deployments
      .filter(({ spec }) => !spec.suspend)
      .map(
        ({ metadata }) =>
          `deployment ${metadata.name} is suspended; "agentplane migrate database ${metadata.name}" copies its threads`,
      ),
    ...listeners
      .filter(({ spec }) => spec.remote !== undefined)
      .map(({ metadata }) => `start listener ${metadata.name} by a manifest of the new installation`),
    ...destinations
      .filter(({ spec }) => /\/\/(127\.|localhost|\[::1\])/.test(spec.config.endpointUrl ?? ''))
      .map(
        ({ metadata }) => `destination ${metadata.name} names a store of this machine; change its endpoint`,
      ),
    ...(schedules > 0 ? [`${schedules} schedules are suspended; each goes on where its exports ended`] : []),
    ...(rest > 0 ? [`${rest} exports that are no schedules, or have ended, were left`] : []),
  ];
}

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
