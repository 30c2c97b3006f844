import { choice, type Config, ConfigError, flag, integer, text } from '#lib/config';
import { openObjectStore, PLATFORM_STORE_FIELDS, platformStoreSettings } from '#lib/object-store';
import type { TraceStore } from '../trace-store.js';
import type { LakeOptions } from './lake.js';

const PREFIX = text('AGENTPLANE_LAKE_PREFIX', 'folder of the bucket for days that moved there', {
  fallback: 'lake',
});

/** Keys begin with it, so it has no slash at either end. */
function parsePrefix(given: string): string {
  const prefix = given.replace(/^\/+|\/+$/g, '');
  if (prefix === '') throw new Error('must be a folder such as lake');
  return prefix;
}

/** Settings of sealing and of the store that it writes to, the same in every program that opens a trace store. */
export const LAKE_FIELDS = {
  ...PLATFORM_STORE_FIELDS,
  lake: choice(
    'AGENTPLANE_LAKE',
    'whether payloads of days that no longer change move to the bucket of AGENTPLANE_ATTACHMENT_BUCKET; read: sealed days are read, and no more follow',
    ['on', 'read', 'off'],
    { fallback: 'off' },
  ),
  lakePrefix: { ...PREFIX, parse: parsePrefix },
  lakeQuietHours: integer(
    'AGENTPLANE_LAKE_QUIET_HOURS',
    'hours since a day ended, and since its last change, after which it moves',
    { fallback: 24, max: 8_760 },
  ),
  lakeEraseHours: integer(
    'AGENTPLANE_LAKE_ERASE_HOURS',
    'hours within which bytes of deleted runs leave the bucket',
    { fallback: 24, min: 1, max: 8_760 },
  ),
  lakeKeptHours: integer(
    'AGENTPLANE_LAKE_KEPT_HOURS',
    'hours for which replaced and deleted objects of the lake stay in the bucket, so that a backup of Postgres as old finds them',
    { fallback: 1, min: 1, max: 8_760 },
  ),
  lakeOnlyWriter: flag(
    'AGENTPLANE_LAKE_ONLY_WRITER',
    'whether no other database uses the folder; files of sealed days that no row names are deleted then',
    { fallback: false },
  ),
};

/** Values of the settings of sealing. */
export type LakeConfig = Config<typeof LAKE_FIELDS>;

/** The reason why days are not sealed; undefined when they are. */
export function whyNotSealing({
  lake,
  attachmentBucket,
}: Pick<LakeConfig, 'lake' | 'attachmentBucket'>): string | undefined {
  if (lake === 'off') return 'AGENTPLANE_LAKE is off';
  if (attachmentBucket === undefined) return 'AGENTPLANE_ATTACHMENT_BUCKET is missing';
  return lake === 'read'
    ? 'AGENTPLANE_LAKE is read: days that are sealed are read, and no more follow'
    : undefined;
}

/**
 * The lake that the settings name; undefined where no payloads are in a bucket. No request is made yet. The
 * trace store that is opened with it closes its connections.
 */
export function openLake(config: LakeConfig): LakeOptions | undefined {
  const { lake, attachmentBucket: bucket, lakePrefix } = config;
  if (lake === 'off' || bucket === undefined) return undefined;
  return {
    store: openObjectStore(platformStoreSettings(config)),
    bucket,
    prefix: lakePrefix,
    quietHours: config.lakeQuietHours,
    eraseHours: config.lakeEraseHours,
    keptHours: config.lakeKeptHours,
    isOnlyWriter: config.lakeOnlyWriter,
  };
}

/**
 * Filters of a program that does not know the bucket would take sealed runs for runs without payloads.
 * @throws ConfigError when some days are sealed and the store was opened without a lake
 */
export async function checkDaysAreReadable(store: Pick<TraceStore, 'lake' | 'hasSealedDays'>): Promise<void> {
  if (store.lake === undefined && (await store.hasSealedDays()))
    throw new ConfigError([
      'payloads of some days are in files: set AGENTPLANE_LAKE to read or on, and AGENTPLANE_ATTACHMENT_BUCKET to their bucket',
    ]);
}

const KEYS = ['attachmentAccessKeyId', 'attachmentSecretAccessKey'] as const;

/** Variables by which another program opens the same lake: those that anyone may read, and the keys of the store. */
export interface LakeVariables {
  readonly open: Readonly<Record<string, string>>;
  readonly keys: Readonly<Record<string, string>>;
}

/** The variables for workers; undefined where no payloads are in a bucket. */
export function lakeVariables(config: LakeConfig): LakeVariables | undefined {
  if (config.lake === 'off' || config.attachmentBucket === undefined) return undefined;
  const names = Object.keys(LAKE_FIELDS) as (keyof LakeConfig)[];
  const isKey = (name: keyof LakeConfig): boolean => KEYS.some((key) => key === name);
  const of = (chosen: readonly (keyof LakeConfig)[]): Record<string, string> =>
    Object.fromEntries(
      chosen.flatMap((name) => {
        const value = config[name];
        return value === undefined ? [] : [[LAKE_FIELDS[name].env, String(value)]];
      }),
    );
  return { open: of(names.filter((name) => !isKey(name))), keys: of(names.filter(isKey)) };
}
