import type { ChosenScope, KeyScope } from '#lib/auth';
import { RESOURCES } from '#lib/resources';
import { RestClient } from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type Target, type TargetFlags } from '../context/target.js';
import {
  isDocument,
  type OutputFormat,
  print,
  renderDocument,
  renderItems,
  type Shape,
} from '../output/print-items.js';

export const KEYS_PATH = '/api/v1/api-key';

/** Flags that select keys. */
export interface KeysFlags extends TargetFlags {
  /** Undefined: the workspace of the key that is used. */
  readonly workspace: string | undefined;
}

/** A key as the REST interface answers it. */
interface Key {
  readonly id: string;
  readonly description: string;
  readonly scope: string;
  readonly deployment: string | null;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
}

const SHAPE: Shape<Key> = {
  nameOf: ({ id }) => id,
  columns: [
    { heading: 'ID', cell: ({ id }) => id },
    { heading: 'NAME', cell: ({ description }) => description },
    { heading: 'SCOPE', cell: ({ scope }) => scope },
    { heading: 'DEPLOYMENT', isWide: true, cell: ({ deployment }) => deployment ?? '' },
    { heading: 'CREATED', cell: ({ created_at: at }) => at },
    { heading: 'EXPIRES', cell: ({ expires_at: at }) => at ?? 'never' },
    { heading: 'LAST USED', cell: ({ last_used_at: at }) => at ?? 'never' },
    { heading: 'REVOKED', cell: ({ revoked_at: at }) => at ?? '' },
  ],
};

/** One that was just made. */
interface NewKey extends Key {
  readonly key: string;
}

const NEW_SHAPE: Shape<NewKey> = {
  ...SHAPE,
  columns: [...SHAPE.columns, { heading: 'KEY', cell: ({ key }) => key }],
};

/**
 * The REST interface with the rights to manage keys: on the operator's machine those of any workspace, elsewhere those of
 * the workspace that the context's key belongs to.
 */
export async function openKeys({ workspace, ...flags }: KeysFlags): Promise<RestClient> {
  const target = resolveTarget(flags);
  const { rest, local, title } = target;
  if (local) {
    const { operatorKey, tenantId } = local.credentials;
    return new RestClient({
      url: rest.url,
      key: operatorKey,
      tenantId: workspace === undefined ? tenantId : await tenantOf(workspace, target),
    });
  }
  if (workspace !== undefined)
    throw new CommandError(
      'usage',
      `--workspace ${workspace} needs the operator key of a data folder, and ${title} has a key of one workspace: leave the option out, or use a context whose key belongs to ${workspace}`,
    );
  return new RestClient(rest);
}

/** The tenant of a workspace, by its name. */
async function tenantOf(workspace: string, target: Target): Promise<string> {
  const found = await withKube(target, ({ client }) => client.find(RESOURCES.Workspace, { name: workspace }));
  if (found) return found.spec.tenantId;
  throw new CommandError(
    'notFound',
    `Workspace ${workspace} does not exist: "agentplane workspace list" lists them`,
  );
}

/** `agentplane keys list`: those in force, or all. */
export async function listKeys(
  flags: KeysFlags & {
    readonly output: OutputFormat;
    readonly all: boolean;
    readonly scope: KeyScope | undefined;
    readonly limit: number | undefined;
  },
): Promise<void> {
  const { scope, limit } = flags;
  const rest = await openKeys(flags);
  const keys = await rest.request<readonly Key[]>('GET', `${KEYS_PATH}?include_revoked=${flags.all}`);
  const chosen = keys.filter((key) => scope === undefined || key.scope === scope).slice(0, limit);
  process.stdout.write(await renderItems(flags.output, chosen, SHAPE));
}

/** `agentplane keys create NAME`: the key alone on standard output, so that a script can take it. */
export async function createKey(
  name: string,
  flags: KeysFlags & {
    readonly scope: ChosenScope;
    readonly expires: number | undefined;
    readonly output: OutputFormat | undefined;
  },
): Promise<void> {
  const { scope, expires, output } = flags;
  const rest = await openKeys(flags);
  const made = await rest.request<NewKey>('POST', KEYS_PATH, {
    description: name,
    scope,
    ...(expires === undefined
      ? {}
      : { expires_at: new Date(systemClock.now().getTime() + expires).toISOString() }),
  });
  if (output === undefined) print(`${made.key}\n`);
  else process.stdout.write(await renderOne(output, made));
  process.stderr.write(`The key is shown this once. "agentplane keys revoke ${made.id}" revokes it.\n`);
}

/** One document, and not a list of one. */
async function renderOne(format: OutputFormat, made: NewKey): Promise<string> {
  return isDocument(format)
    ? await renderDocument(format, made)
    : await renderItems(format, [made], NEW_SHAPE);
}

/** `agentplane keys revoke ID`, or the name of a key. */
export async function revokeKey(given: string, flags: KeysFlags): Promise<void> {
  const rest = await openKeys(flags);
  const id = await idOfKey(rest, given);
  const { description } = await rest.request<Key>('DELETE', `${KEYS_PATH}/${encodeURIComponent(id)}`);
  print(`key ${id} (${description}) revoked\n`);
}

/** Id of a key. A word that is no name of a key in force is taken for an id. */
async function idOfKey(rest: RestClient, given: string): Promise<string> {
  const keys = await rest.request<readonly Key[]>('GET', KEYS_PATH);
  if (keys.some(({ id }) => id === given)) return given;
  const named = keys.filter(({ description }) => description === given);
  if (named.length > 1)
    throw new CommandError(
      'usage',
      `${named.length} keys are named ${given}: give one of their ids, ${named.map(({ id }) => id).join(', ')}`,
    );
  return named[0]?.id ?? given;
}
