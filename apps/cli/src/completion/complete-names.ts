import { LIVE_NAMES, type LiveName, visibleText } from '#lib/command-line';
import { dataPaths, DEFAULT_DATA, INSTALLATION } from '#lib/data-folder';
import { openImageStore } from '#lib/image-store';
import { EXIT } from '#lib/lifecycle';
import { RestClient } from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { readContexts } from '../context/context-file.js';
import { withKube } from '../context/open-kube.js';
import { LOCAL_CONTEXT, resolveTarget, type TargetFlags } from '../context/target.js';
import { KEYS_PATH, openKeys } from '../keys/keys-command.js';
import { findKind } from '../objects/find-object.js';

/** Time that a user who pressed Tab waits at most; a longer menu helps no one. */
const PATIENCE_MS = 2_000;
const MOST_NAMES = 1_000;

export interface CompleteFlags extends TargetFlags {
  readonly workspace: string | undefined;
  readonly namespace: string | undefined;
}

/** Prints names for completion; a platform that does not answer is silence, since the user is in the middle of a line. */
export async function printNames(
  what: string,
  kind: string | undefined,
  flags: CompleteFlags,
): Promise<number> {
  const name = LIVE_NAMES.find((one) => one === what);
  if (name === undefined) return EXIT.usage;
  const names = await Promise.race([
    readNames(name, kind, flags).catch(() => []),
    systemClock.sleep(PATIENCE_MS).then(() => []),
  ]);
  const lines = [...new Set(names)]
    .slice(0, MOST_NAMES)
    .map((one) => `${visibleText(one).replaceAll('\n', ' ')}\n`);
  process.stdout.write(lines.join(''));
  return EXIT.ok;
}

async function readNames(
  what: LiveName,
  kind: string | undefined,
  flags: CompleteFlags,
): Promise<readonly string[]> {
  switch (what) {
    case 'context':
      return [LOCAL_CONTEXT, ...readContexts().contexts.map(({ name }) => name)];
    case 'deployment':
      return await deploymentNames(flags);
    case 'destination':
      return await objectNames('bulkexportdestination', flags);
    case 'export':
      return await objectNames('bulkexport', flags);
    case 'image':
      return await imageNames(flags);
    case 'key':
      return await keyNames(flags);
    case 'namespace':
      return await objectNames('namespace', flags);
    case 'object':
      return kind === undefined ? [] : await objectNames(kind, flags);
    case 'price':
      return (await list<{ readonly id: string }>('/model-price-map', flags)).map(({ id }) => id);
    case 'project':
      return (await list<{ readonly name: string }>('/sessions?limit=100', flags)).map(({ name }) => name);
    case 'workspace':
      return await objectNames('workspace', flags);
    default:
      return what satisfies never;
  }
}

async function list<T>(path: string, flags: CompleteFlags): Promise<readonly T[]> {
  return await new RestClient(resolveTarget(flags).rest).request<readonly T[]>('GET', path);
}

async function deploymentNames(flags: CompleteFlags): Promise<readonly string[]> {
  const rest = new RestClient(resolveTarget(flags).rest);
  const { resources } = await rest.request<{ readonly resources: readonly { readonly name: string }[] }>(
    'GET',
    '/v2/deployments?limit=100',
  );
  return resources.map(({ name }) => name);
}

async function objectNames(word: string, flags: CompleteFlags): Promise<readonly string[]> {
  return await withKube(resolveTarget(flags), async ({ client, connection }) => {
    const kind = await findKind(client, word);
    const namespace = flags.namespace ?? connection.namespace;
    const { items } = await client.list(kind, {
      ...(kind.namespaced ? { namespace } : {}),
      metadataOnly: true,
    });
    return items.map(({ metadata }) => metadata.name);
  });
}

async function imageNames({ data = DEFAULT_DATA }: CompleteFlags): Promise<readonly string[]> {
  const folder = dataPaths(data).images;
  const store = openImageStore({ folder, installation: INSTALLATION, clock: systemClock });
  return (await store.list()).map(({ name }) => name);
}

/** Names and ids of keys, as `keys revoke` takes them. */
async function keyNames(flags: CompleteFlags): Promise<readonly string[]> {
  const rest = await openKeys(flags);
  const keys = await rest.request<readonly { readonly id: string; readonly description: string }[]>(
    'GET',
    KEYS_PATH,
  );
  return keys.flatMap(({ id, description }) => [id, description]);
}
