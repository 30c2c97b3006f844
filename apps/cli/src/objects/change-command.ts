import { readFileSync } from 'node:fs';
import type { KubeClient, Untyped } from '#lib/kube';
import { type KubeObject, type ObjectKey, RESOURCES } from '#lib/resources';
import { errorText } from '#lib/errors';
import { parseAllDocuments } from 'yaml';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { print } from '../output/print-items.js';
import { nameOf, namespaceOf } from './get-command.js';
import { findKind, findObject, type Kind, parseObjectWords } from './find-object.js';
import { followObject } from '../waiting/follow-object.js';

/** `agentplane apply -f FILE`: every object of the file, in its order; what is applied before a failure stays. */
export async function applyFile({
  file,
  namespace,
  ...flags
}: TargetFlags & {
  readonly file: string | undefined;
  readonly namespace: string | undefined;
}): Promise<void> {
  if (file === undefined)
    throw new CommandError('usage', 'apply needs a manifest: apply -f FILE, or -f - for standard input');
  const objects = readManifest(file);
  await withKube(resolveTarget(flags), async ({ client, connection }) => {
    for (const object of objects) {
      const { kind, key, verb } = await applyObject(client, object, namespace ?? connection.namespace);
      print(`${nameOf(kind, key.name)} ${verb}\n`);
    }
  });
}

/** An object as it was applied. */
export interface AppliedObject {
  readonly kind: Kind;
  readonly key: ObjectKey;
  readonly generation: number;
  readonly verb: 'created' | 'changed' | 'unchanged';
}

/**
 * Applies one object of a manifest.
 * @param namespace of those that name none
 */
export async function applyObject(
  client: KubeClient,
  object: ManifestObject,
  namespace: string,
): Promise<AppliedObject> {
  const [version = '', group = ''] = object.apiVersion.split('/').reverse();
  const kind = await findKind(client, group === '' ? object.kind : `${object.kind}.${group}`);
  const metadata = kind.namespaced ? { namespace, ...object.metadata } : object.metadata;
  const key = {
    name: metadata.name,
    ...(kind.namespaced ? { namespace: metadata.namespace ?? namespace } : {}),
  };
  const before = await client.find({ ...kind, version }, key);
  const after = await client.apply({ ...kind, version }, { ...object, metadata });
  // kinds without a spec have no generation
  const markOf = ({ metadata: { generation, resourceVersion } }: Untyped): unknown =>
    generation ?? resourceVersion;
  const verb = before === undefined ? 'created' : markOf(before) === markOf(after) ? 'unchanged' : 'changed';
  return { kind, key, verb, generation: after.metadata.generation ?? 1 };
}

/** An object of a manifest file, as far as it must be known to apply it. */
export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

/**
 * The objects of a YAML or JSON file; `-` is standard input.
 * @throws CommandError that names the file and the document
 */
export function readManifest(file: string): readonly ManifestObject[] {
  const objects = parseAllDocuments(readText(file)).flatMap((document, at) => {
    const where = `${file}, document ${at + 1}`;
    const problem = document.errors[0];
    if (problem) throw new CommandError('usage', `${where} is not YAML: ${problem.message}`);
    const value: unknown = document.toJS();
    if (value === null || value === undefined) return [];
    if (!isManifestObject(value))
      throw new CommandError(
        'usage',
        `${where} is no object of Kubernetes: apiVersion, kind and metadata.name are needed`,
      );
    return [value];
  });
  if (objects.length > 0) return objects;
  throw new CommandError('usage', `${file} holds no object of Kubernetes`);
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new CommandError('failed', `reading ${file} failed: ${errorText(error)}`, { cause: error });
  }
}

function isManifestObject(value: unknown): value is ManifestObject {
  if (typeof value !== 'object' || value === null || !('metadata' in value)) return false;
  const { metadata } = value;
  return (
    'apiVersion' in value &&
    typeof value.apiVersion === 'string' &&
    'kind' in value &&
    typeof value.kind === 'string' &&
    typeof metadata === 'object' &&
    metadata !== null &&
    'name' in metadata &&
    typeof metadata.name === 'string'
  );
}

export interface DeleteFlags extends TargetFlags {
  readonly namespace: string | undefined;
  readonly yes: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

/** Everything that goes with an object of the platform's kinds, written behind its name. */
const LOST: Readonly<Record<string, string>> = {
  AgentDeployment: ', its revisions, its pods and its database with all threads, for good',
  BulkExport: ' and its days, and cancels it; exported files stay',
  BulkExportDestination: '; exports that write to it fail, and exported files stay',
  Workspace: '; "agentplane workspace delete" says what it holds',
};

/** `agentplane delete KIND NAME --yes`. */
export async function deleteObject(words: readonly string[], flags: DeleteFlags): Promise<void> {
  await withKube(resolveTarget(flags), async (kube) => {
    const { kind: word, name } = parseObjectWords(words);
    if (name === undefined)
      throw new CommandError('usage', `${word} names no object: use delete KIND NAME or KIND/NAME`);
    const kind = await findKind(kube.client, word);
    const { metadata } = await findObject(kube.client, kind, name, { namespace: namespaceOf(kube, flags) });
    const label = nameOf(kind, metadata.name);
    if (!flags.yes) {
      const lost = kind.group === RESOURCES.Workspace.group ? (LOST[kind.kind] ?? '') : '';
      throw new CommandError('usage', `nothing was deleted; --yes deletes ${label}${lost}`);
    }
    const key = { name: metadata.name, ...(kind.namespaced ? { namespace: metadata.namespace ?? '' } : {}) };
    await kube.client.delete(kind, key, metadata.uid === undefined ? {} : { uid: metadata.uid });
    if (flags.wait) await waitUntilGone(kube.client, kind, { key, uid: metadata.uid, label }, flags.timeout);
    print(`${label} deleted\n`);
  });
}

async function waitUntilGone(
  client: Parameters<typeof followObject<KubeObject>>[0],
  kind: Kind,
  { key, uid, label }: { readonly key: ObjectKey; readonly uid: string | undefined; readonly label: string },
  timeoutMs: number,
): Promise<void> {
  let isTold = false;
  for await (const found of followObject<KubeObject>(client, kind, key, { timeoutMs })) {
    if (!found || found.metadata.uid !== uid) return;
    if (!isTold) process.stderr.write(`Waiting until ${label} has ended …\n`);
    isTold = true;
  }
  throw new CommandError(
    'timedOut',
    `${label} is not deleted after ${timeoutMs / 1000} s; it goes on, and "agentplane describe ${kind.singular} ${key.name}" shows what holds it`,
  );
}
