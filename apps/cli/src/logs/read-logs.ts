import type { KubeClient } from '#lib/kube';
import {
  byTime,
  containersOf,
  followLogs,
  keptLines,
  keptNames,
  LastLines,
  type LogLine,
  logSources,
  podFinder,
  readLogs,
  SeenLines,
} from '#lib/pod-logs';
import { CONFIG_MAPS, isUuid, type Pod } from '#lib/resources';
import { Backoff, type Clock, systemClock } from '#lib/time';
import { errorText } from '#lib/errors';
import { type RestClient, RestError } from '#lib/rest-client';
import { CommandError } from '../command-error.js';
import type { TargetFlags } from '../context/target.js';
import type { LogOwner } from './log-owner.js';
import { deploymentIdOf } from '../rest/find-id.js';

export interface LogsFlags extends TargetFlags {
  readonly namespace: string | undefined;
  readonly revision: string | undefined;
  readonly container: string | undefined;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly tail: number | undefined;
  /** Milliseconds before now. */
  readonly since: number | undefined;
  readonly timestamps: boolean;
  /** Undefined: for people. */
  readonly output: 'json' | undefined;
}

const IDLE_MS = 60_000;

export interface KubeLogs {
  readonly client: KubeClient;
  readonly owner: LogOwner;
  readonly flags: LogsFlags;
  readonly signal: AbortSignal;
  readonly onNote: (message: string) => void;
}

/**
 * The lines of an owner's pods by time; of a revision that failed and has none, what is kept of it.
 * @throws CommandError `notFound` when there is neither, or no container of the name
 */
export async function* kubeLogs(logs: KubeLogs): AsyncGenerator<readonly LogLine[], void, void> {
  const { client, owner, flags, signal, onNote } = logs;
  const { container, follow, previous, tail } = flags;
  const listPods = podFinder(client, owner.pods, { signal, onNote });
  const pods = await listPods();
  const kept = previous ? [] : await keptOutput(logs, pods);
  const since = flags.since === undefined ? undefined : sinceText(flags.since);
  checkNames(logs, pods, kept);
  const shown = since === undefined ? kept : kept.filter(({ time }) => time >= since);
  const before = shown.slice(tail === undefined ? 0 : Math.max(0, shown.length - tail));
  if (before.length > 0) yield before;
  const options = { client, container, tail, since, signal, onNote };
  if (follow) {
    const { endsWithPods } = owner;
    const more = { endsWithPods, idleMs: IDLE_MS, clock: systemClock, pods: listPods };
    yield* followLogs({ ...options, ...more });
    return;
  }
  const sources = logSources(pods, { container, previous });
  if (sources.length === 0 && kept.length === 0)
    onNote(previous ? 'no container has been restarted' : 'no container has started yet');
  const lines = readLogs(client, sources, { ...options, previous });
  if (tail === undefined) return yield* lines;
  const last = new LastLines(tail);
  for await (const batch of lines) last.add(batch);
  yield last.lines();
}

/** RFC 3339 with the digits that times of lines have, so that both compare as texts. */
function sinceText(ms: number): string {
  const from = new Date(systemClock.now().getTime() - ms).toISOString();
  return from.replace(/Z$/, '000000Z');
}

async function keptOutput(
  { client, owner: { failed, built, namespace }, flags: { container, tail } }: KubeLogs,
  pods: readonly Pod[],
): Promise<readonly LogLine[]> {
  const names = keptNames({ built, failed }, pods);
  const found = await Promise.all(names.map((name) => client.find(CONFIG_MAPS, { namespace, name })));
  return found.flatMap((kept) => (kept ? keptLines(kept, { container, tail }) : [])).sort(byTime);
}

function checkNames(
  { owner, flags: { container, follow } }: KubeLogs,
  pods: readonly Pod[],
  kept: readonly LogLine[],
): void {
  if (kept.length > 0) return;
  if (pods.length === 0 && (!follow || owner.endsWithPods))
    throw new CommandError(
      'notFound',
      `${owner.title} has no pods: "agentplane describe ${owner.describedBy}" shows its state`,
    );
  const names = containersOf(pods);
  if (container !== undefined && pods.length > 0 && !names.includes(container))
    throw new CommandError(
      'notFound',
      `${owner.title} has no container ${container}: it has ${names.join(', ')}`,
    );
}

/** One line of an answer of `GET /v2/deployments/{id}/logs`. */
type LogRecord =
  | {
      readonly type: 'line';
      readonly time: string | null;
      readonly pod: string;
      readonly container: string;
      readonly text: string;
      readonly cut_bytes?: number;
    }
  | { readonly type: 'note'; readonly message: string }
  | { readonly type: 'heartbeat' };

/** The most lines that one request may ask for. */
const MAX_TAIL = 10_000;
/** Asked for again after a break: pods report a little later than one another. */
const OVERLAP_MS = 5_000;
/** The server shows at least every 15 s that all is well. */
const SILENT_MS = 45_000;

export interface RestLogs {
  readonly rest: Pick<RestClient, 'request' | 'lines'>;
  readonly flags: LogsFlags;
  readonly clock: Clock;
  readonly onNote: (message: string) => void;
}

/**
 * The lines of a deployment by REST. A followed log continues after its connection broke, with the lines that
 * came meanwhile and without those that were seen.
 * @param name of the deployment, or its id
 * @throws CommandError, RestError
 */
export async function* restLogs(
  logs: RestLogs,
  name: string,
): AsyncGenerator<readonly LogLine[], void, void> {
  const { rest, flags, clock, onNote } = logs;
  const path = await pathOf(logs, name);
  const since = flags.since === undefined ? undefined : sinceText(flags.since);
  const known = new KnownLines();
  const backoff = new Backoff(clock, { firstMs: 500, longestMs: 10_000 });
  let hasBegun = false;
  for (;;) {
    const query = !hasBegun
      ? firstQuery(flags, since)
      : { follow: 'true', tail: `${MAX_TAIL}`, since: known.since ?? since };
    const isNew = known.resume();
    try {
      for await (const records of rest.lines<LogRecord>(`${path}?${queryText(query)}`, {
        silentMs: SILENT_MS,
      })) {
        backoff.reset();
        hasBegun = true;
        for (const record of records) if (record.type === 'note') onNote(record.message);
        const lines = records.flatMap(lineOf).filter(isNew);
        known.add(lines);
        yield lines;
      }
      if (!flags.follow) return;
    } catch (error) {
      if (hasBegun && error instanceof RestError && error.status === 404) return;
      if (isFinal(error) || !hasBegun || !flags.follow) throw error;
      onNote(`the connection broke, reading on: ${errorText(error)}`);
    }
    await clock.sleep(backoff.nextMs());
  }
}

/** Lines seen of each container. */
class KnownLines {
  readonly #seen = new Map<string, SeenLines>();
  #newest: string | undefined;

  /** Time from which lines are to be read again; undefined before the first. */
  get since(): string | undefined {
    if (this.#newest === undefined) return undefined;
    const fromMs = Date.parse(`${this.#newest.slice(0, 23)}Z`) - OVERLAP_MS;
    return Number.isNaN(fromMs) ? undefined : new Date(fromMs).toISOString();
  }

  add(lines: readonly LogLine[]): void {
    for (const line of lines) {
      const seen = this.#seen.get(nameOf(line)) ?? new SeenLines();
      this.#seen.set(nameOf(line), seen);
      seen.add(line);
      if (this.#newest === undefined || line.time > this.#newest) this.#newest = line.time;
    }
  }

  resume(): (line: LogLine) => boolean {
    const filters = new Map([...this.#seen].map(([name, seen]) => [name, seen.resume()] as const));
    return (line) => filters.get(nameOf(line))?.(line) ?? true;
  }
}

async function pathOf({ rest, flags }: RestLogs, name: string): Promise<string> {
  const [kind, bare] = name.includes('/') ? name.split('/') : ['adep', name];
  if (bare === undefined || !/^(adep|agentdeployments?)$/i.test(kind ?? ''))
    throw new CommandError(
      'usage',
      `the logs of ${name} need the Kubernetes API, and the context has no kubeconfig; REST has those of deployments`,
    );
  const base = `/v2/deployments/${await deploymentIdOf(rest, bare)}`;
  if (flags.revision === undefined) return `${base}/logs`;
  if (isUuid(flags.revision)) return `${base}/revisions/${flags.revision}/logs`;
  throw new CommandError('usage', `--revision ${flags.revision} is no id: by REST revisions have ids alone`);
}

function firstQuery(
  { follow, tail, container, previous }: LogsFlags,
  since: string | undefined,
): Readonly<Record<string, string | undefined>> {
  return {
    tail: tail === undefined ? undefined : `${tail}`,
    container,
    since,
    ...(follow ? { follow: 'true' } : {}),
    ...(previous ? { previous: 'true' } : {}),
  };
}

function queryText(query: Readonly<Record<string, string | undefined>>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, value);
  return given.toString();
}

function lineOf(record: LogRecord): readonly LogLine[] {
  if (record.type !== 'line') return [];
  const { time, pod, container, text, cut_bytes: cutBytes } = record;
  return [{ time: time ?? '', pod, container, text, ...(cutBytes === undefined ? {} : { cutBytes }) }];
}

/** The server says so itself, and asking again changes nothing. */
function isFinal(error: unknown): boolean {
  return error instanceof RestError && error.status < 500 && error.status !== 429;
}

function nameOf({ pod, container }: Pick<LogLine, 'pod' | 'container'>): string {
  return `${pod}/${container}`;
}
