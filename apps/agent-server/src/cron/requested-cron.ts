import { z } from 'zod';
import { UUID_PATTERN } from '#lib/resources';
import {
  document,
  MAX_NAMES,
  parseBody,
  parseRequestedRun,
  requestedRun,
  type RequestedRun,
  text,
  unsupported,
} from '../run/requested-run.js';

const uuid = z.string().regex(UUID_PATTERN, 'must be a uuid');
const moment = z.iso.datetime({ offset: true, local: true }).transform((given) => {
  // a time without an offset is one of UTC, as schedules without a time zone are
  return new Date(/(z|[+-]\d{2}:?\d{2})$/i.test(given) ? given : `${given}Z`);
});

const timing = {
  timezone: text.nullish(),
  end_time: moment.nullish(),
  enabled: z.boolean().nullish(),
  on_run_completed: z.enum(['delete', 'keep']).nullish(),
  metadata: document.nullish(),
  // the thread id must be that of the path, or of the cron that is changed
  thread_id: z.unknown().optional(),
};

/** Fields of runs that a cron cannot have: they belong to one run, or to a client that waits for it. */
const misplaced = Object.fromEntries(
  [
    'command',
    'checkpoint',
    'checkpoint_id',
    'after_seconds',
    'on_disconnect',
    'on_completion',
    'if_not_exists',
  ].map((name) => [name, unsupported]),
);

const creation = z.object({ ...timing, ...misplaced, schedule: text });
const change = z.object({ ...timing, ...misplaced, schedule: text.nullish() });
const matching = {
  assistant_id: uuid.nullish(),
  thread_id: uuid.nullish(),
  enabled: z.boolean().nullish(),
  metadata: document.nullish(),
};
const FIELDS = [
  'cron_id',
  'assistant_id',
  'thread_id',
  'end_time',
  'schedule',
  'created_at',
  'updated_at',
  'user_id',
  'payload',
  'next_run_date',
  'metadata',
  'timezone',
  'enabled',
  'on_run_completed',
  'now',
  'disabled_reason',
  'last_run_date',
  'last_run_id',
  'last_error',
] as const;
const search = z.object({
  ...matching,
  limit: z.int().min(1).max(1000).nullish(),
  offset: z.int().min(0).nullish(),
  sort_by: z
    .enum(['cron_id', 'assistant_id', 'thread_id', 'created_at', 'updated_at', 'next_run_date'])
    .nullish(),
  sort_order: z.enum(['asc', 'desc']).nullish(),
  select: z.array(z.enum(FIELDS)).max(MAX_NAMES).nullish(),
});

/** Parts of a request for a run that a cron keeps. */
const RUN_FIELDS = {
  assistant_id: true,
  input: true,
  config: true,
  context: true,
  interrupt_before: true,
  interrupt_after: true,
  webhook: true,
  multitask_strategy: true,
  durability: true,
  checkpoint_during: true,
  stream_mode: true,
  stream_subgraphs: true,
  stream_resumable: true,
} as const;
const runFields = requestedRun.pick(RUN_FIELDS);

/** Shapes of requests for crons, for their description. */
export const CRON_SHAPES = {
  creation: z.object({ ...timing, schedule: text, ...runFields.shape }).omit({ thread_id: true }),
  change: z
    .object({ ...timing, schedule: text.nullish(), ...runFields.omit({ assistant_id: true }).shape })
    .omit({ thread_id: true }),
  search,
};

export type CronSearchBody = z.infer<typeof search>;
type CronFields = z.infer<typeof change>;

/** A checked cron of a request; fields that the request leaves out are undefined. */
export interface RequestedCron extends Pick<
  CronFields,
  'schedule' | 'timezone' | 'end_time' | 'enabled' | 'on_run_completed' | 'metadata' | 'thread_id'
> {
  /** Body of its runs. */
  readonly run: RequestedRun;
}

function runOf(given: Readonly<Record<string, unknown>>): RequestedRun {
  const named = Object.keys(RUN_FIELDS).filter((name) => given[name] !== undefined && given[name] !== null);
  return parseRequestedRun(Object.fromEntries(named.map((name) => [name, given[name]])));
}

/** A change of a cron. */
export interface RequestedChange extends RequestedCron {
  /** It names a part of the runs. */
  readonly changesRun: boolean;
}

/** @throws PublicError `invalid` */
export function parseNewCron(body: unknown): RequestedCron & { readonly schedule: string } {
  const fields = parseBody(creation, body);
  return { ...fields, run: runOf(z.looseObject({}).parse(body)) };
}

/**
 * @param kept current fields of its runs; fields of the request replace them
 * @throws PublicError `invalid`
 */
export function parseChangedCron(body: unknown, kept: Readonly<Record<string, unknown>>): RequestedChange {
  const fields = parseBody(change, body);
  const given = z.looseObject({}).parse(body);
  const named = Object.entries(given).filter(([name, value]) => name !== 'assistant_id' && value !== null);
  const { durability, ...others } = kept;
  // the former name of the same option counts as its change
  const stays = given['checkpoint_during'] === undefined ? { durability } : {};
  return {
    ...fields,
    run: runOf({ ...others, ...stays, ...Object.fromEntries(named) }),
    changesRun: named.some(([name]) => Object.hasOwn(RUN_FIELDS, name)),
  };
}

/** @throws PublicError `invalid` */
export function parseCronSearch(body: unknown): CronSearchBody {
  return parseBody(search, body);
}
