import { type LogLine, SeenLines } from '#lib/pod-logs';
import { isUuid } from '#lib/resources';
import { Backoff, type Clock } from '#lib/time';
import { errorText } from '#lib/errors';
import { type RestClient, RestError } from '#lib/rest-client';
import { CommandError } from '../command-error.js';
import { deploymentIdOf } from '../rest/deployment-id.js';
import { type LogsFlags, sinceText } from './kube-logs.js';

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
