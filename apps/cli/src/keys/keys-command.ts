import { findRunningPlatform, nothingRuns } from '#lib/data-folder';
import { errorText } from '#lib/errors';
import { EXIT } from '#lib/lifecycle';
import type { ApiKeyRecord } from '#lib/trace-store';
import type { OutputFormat } from '../output-format.js';
import { printTable } from '../output.js';
import { openKeys, type WorkspaceKeys } from './open-keys.js';

/** Which keys are meant. */
export interface KeysFlags {
  readonly data: string;
  readonly workspace: string;
}

/** A key as it is printed; the key itself is nowhere. */
interface ShownKey {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly deployment?: string;
  readonly createdAt: string;
  readonly lastUsedAt?: string;
  readonly revokedAt?: string;
}

const COLUMNS = ['ID', 'NAME', 'KIND', 'CREATED', 'LAST USED', 'REVOKED'];

function shown({ id, name, kind, deployment, createdAt, lastUsedAt, revokedAt }: ApiKeyRecord): ShownKey {
  return {
    ...{ id, name, kind, createdAt: createdAt.toISOString() },
    ...(deployment === undefined ? {} : { deployment }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt: lastUsedAt.toISOString() }),
    ...(revokedAt === undefined ? {} : { revokedAt: revokedAt.toISOString() }),
  };
}

function rowOf({ id, name, kind, createdAt, lastUsedAt, revokedAt }: ShownKey): string[] {
  return [id, name, kind, createdAt, lastUsedAt ?? 'never', revokedAt ?? ''];
}

/** Opens the keys, does one thing, closes them; what goes wrong is said in one line. */
async function withKeys(flags: KeysFlags, act: (keys: WorkspaceKeys) => Promise<number>): Promise<number> {
  const platform = findRunningPlatform(flags.data);
  if (!platform) {
    process.stderr.write(nothingRuns(flags.data));
    return EXIT.failed;
  }
  try {
    const keys = await openKeys(platform, flags);
    try {
      return await act(keys);
    } finally {
      await keys.close();
    }
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`);
    return EXIT.failed;
  }
}

/** `agentplane keys list`: those in force, or all. */
export function listKeys(
  flags: KeysFlags & { readonly output: OutputFormat; readonly all: boolean },
): Promise<number> {
  return withKeys(flags, async ({ apiKeys, tenantId }) => {
    const keys = (await apiKeys.list(tenantId)).map(shown);
    const wanted = flags.all ? keys : keys.filter(({ revokedAt }) => revokedAt === undefined);
    process.stdout.write(printTable(flags.output, wanted, COLUMNS, rowOf));
    return EXIT.ok;
  });
}

/** `agentplane keys create NAME`: the key alone on standard output, so that a script can take it. */
export function createKey(name: string, flags: KeysFlags): Promise<number> {
  return withKeys(flags, async ({ apiKeys, tenantId }) => {
    const { key, id } = await apiKeys.mint(tenantId, { name, kind: 'person' });
    process.stdout.write(`${key}\n`);
    process.stderr.write(`It is shown this once. "agentplane keys revoke ${id}" ends it.\n`);
    return EXIT.ok;
  });
}

/** `agentplane keys revoke ID`. A deployment's own key is not for people to end: it would fall silent. */
export function revokeKey(id: string, flags: KeysFlags): Promise<number> {
  return withKeys(flags, async ({ apiKeys, tenantId }) => {
    const found = (await apiKeys.list(tenantId)).find((key) => key.id === id);
    if (found?.deployment !== undefined)
      throw new Error(`${id} belongs to the deployment ${found.deployment} and ends with it`);
    if (!(await apiKeys.revoke(tenantId, id)))
      throw new Error(`there is no key ${id} in force in workspace ${flags.workspace}`);
    return EXIT.ok;
  });
}
