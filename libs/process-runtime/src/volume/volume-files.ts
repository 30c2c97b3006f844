import type { KubeClient } from '#lib/kube';
import { CONFIG_MAPS, type Pod, SECRETS } from '#lib/resources';
import { ContainerConfigError, fieldOf } from '../pod-values/pod-field.js';
import type { DownwardSource, KeySource, ProjectedSource, Volume } from './volume.js';

/** Maximum length of a spec's text in an error. */
const SHOWN_LETTERS = 200;

/** Limits of a path: it is looked up, or made, part by part. */
export interface PathBounds {
  readonly letters: number;
  readonly parts: number;
}

/** @throws ContainerConfigError for a path that is longer or deeper, with its beginning alone */
export function requireShort(what: string, path: string, { letters, parts }: PathBounds): void {
  if (path.length <= letters && path.split('/').length <= parts) return;
  throw new ContainerConfigError(
    `${what} ${JSON.stringify(path.slice(0, SHOWN_LETTERS))}… has ${path.length} letters; the limit is ${letters}, and ${parts} parts`,
  );
}

export interface VolumeFile {
  readonly bytes: Buffer;
  readonly mode: number;
}

/** Files by their path in the volume. */
export type VolumeFiles = ReadonlyMap<string, VolumeFile>;

const DEFAULT_MODE = 0o644;

/** Limit per volume: a larger one is a mistake, or made to fill the disk and the memory of the machine. */
const MAX_FILES = 1_000;
const MAX_BYTES = 8 * 2 ** 20;
const MAX_SOURCES = 64;
const PATH_BOUNDS = { letters: 1_024, parts: 32 };

type Bytes = Readonly<Record<string, Buffer>>;

/**
 * Current content of a volume that is made of objects; undefined for one that begins empty.
 * @throws ContainerConfigError when an object or a key does not exist
 */
export async function volumeFiles(
  client: Pick<KubeClient, 'find'>,
  pod: Pod,
  { configMap, secret, downwardAPI, projected }: Volume,
): Promise<VolumeFiles | undefined> {
  const sources: readonly ProjectedSource[] | undefined =
    (configMap && [{ configMap }]) ??
    (secret && [
      { secret: { ...secret, ...(secret.secretName === undefined ? {} : { name: secret.secretName }) } },
    ]) ??
    (downwardAPI && [{ downwardAPI }]) ??
    projected?.sources;
  if (!sources) return undefined;
  if (sources.length > MAX_SOURCES) throw tooMuch(`${sources.length} sources`, `${MAX_SOURCES}`);
  const mode = (configMap ?? secret ?? downwardAPI ?? projected)?.defaultMode ?? DEFAULT_MODE;
  const files = new Map<string, VolumeFile>();
  let bytes = 0;
  for (const source of sources)
    for (const [path, file] of await filesOf(client, pod, source, mode)) {
      files.set(checked(path), file);
      requireMode(file.mode);
      bytes += file.bytes.length;
      if (files.size > MAX_FILES) throw tooManyFiles(files.size);
      if (bytes > MAX_BYTES) throw tooMuch('more bytes', `${MAX_BYTES / 2 ** 20} MiB`);
    }
  return files;
}

function tooMuch(found: string, limit: string): ContainerConfigError {
  return new ContainerConfigError(`a volume has ${found}; the limit is ${limit}`);
}

function tooManyFiles(count: number): ContainerConfigError {
  return tooMuch(`${count} files`, `${MAX_FILES}`);
}

async function filesOf(
  client: Pick<KubeClient, 'find'>,
  pod: Pod,
  { configMap, secret, downwardAPI }: ProjectedSource,
  mode: number,
): Promise<readonly (readonly [string, VolumeFile])[]> {
  const { namespace = '' } = pod.metadata;
  if (configMap) {
    const found = await client.find(CONFIG_MAPS, { namespace, name: configMap.name ?? '' });
    const { data, binaryData } = (found ?? {}) as ConfigMapData;
    const values = { ...bytesOf(data, 'utf8'), ...bytesOf(binaryData, 'base64') };
    return picked(`ConfigMap ${configMap.name ?? ''}`, found && values, configMap, mode);
  }
  if (secret) {
    const found = await client.find(SECRETS, { namespace, name: secret.name ?? '' });
    return picked(`Secret ${secret.name ?? ''}`, found && bytesOf(found.data, 'base64'), secret, mode);
  }
  return downwardFiles(pod, downwardAPI ?? {}, mode);
}

interface ConfigMapData {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

function bytesOf(values: Readonly<Record<string, string>> | undefined, encoding: BufferEncoding): Bytes {
  return Object.fromEntries(
    Object.entries(values ?? {}).map(([key, value]) => [key, Buffer.from(value, encoding)]),
  );
}

function picked(
  object: string,
  values: Bytes | undefined,
  { items, optional = false }: KeySource,
  mode: number,
): readonly (readonly [string, VolumeFile])[] {
  if (!values) {
    if (optional) return [];
    throw new ContainerConfigError(`${object} not found; create it`);
  }
  if ((items?.length ?? 0) > MAX_FILES) throw tooManyFiles(items?.length ?? 0);
  if (!items) return Object.entries(values).map(([key, bytes]) => [key, { bytes, mode }]);
  return items.flatMap(({ key, path, mode: own }) => {
    const bytes = Object.hasOwn(values, key) ? values[key] : undefined;
    if (bytes) return [[path, { bytes, mode: own ?? mode }] as const];
    if (optional) return [];
    throw new ContainerConfigError(`${object} has no key ${key}`);
  });
}

function downwardFiles(
  pod: Pod,
  { items = [] }: DownwardSource,
  mode: number,
): readonly (readonly [string, VolumeFile])[] {
  if (items.length > MAX_FILES) throw tooManyFiles(items.length);
  // annotations may be long, and named often
  const texts = new Map<string, Buffer>();
  return items.map(({ path, mode: own, fieldRef }) => {
    const field = fieldRef?.fieldPath ?? '';
    const bytes = texts.get(field) ?? Buffer.from(downwardText(pod, field), 'utf8');
    texts.set(field, bytes);
    return [path, { bytes, mode: own ?? mode }];
  });
}

/** Maps as a kubelet writes them: a line `KEY="VALUE"` each, sorted. */
function downwardText(pod: Pod, path: string): string {
  if (path !== 'metadata.labels' && path !== 'metadata.annotations') return fieldOf(pod, path);
  const entries = Object.entries(
    (path === 'metadata.labels' ? pod.metadata.labels : pod.metadata.annotations) ?? {},
  );
  return entries
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort()
    .join('\n');
}

/**
 * Requires permission bits only. Further bits would give the rights of the owner to any user who runs the
 * file.
 */
function requireMode(mode: number): void {
  if (Number.isInteger(mode) && mode >= 0 && mode <= 0o777) return;
  throw new ContainerConfigError(
    `the mode ${JSON.stringify(mode)} of a file of a volume must be a number from 0 to 0777`,
  );
}

/** A path of a spec must stay in its volume. */
function checked(path: string): string {
  requireShort('a path of a volume', path, PATH_BOUNDS);
  if (path === '' || path.startsWith('/') || path.split('/').includes('..'))
    throw new ContainerConfigError(
      `path ${JSON.stringify(path)} of a volume must be relative and without ".."`,
    );
  return path;
}
