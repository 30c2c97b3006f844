import { visibleText } from '#lib/command-line';
import { errorText } from '#lib/errors';
import { RestClient, RestError, timeText } from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { type OutputFormat, renderItems, type Shape } from '../output/print-items.js';
import { deploymentIdOf } from '../rest/find-id.js';

export interface EventsFlags extends TargetFlags {
  readonly watch: boolean;
  readonly limit: number | undefined;
  readonly output: OutputFormat;
}

/** An event as the REST interface answers it. */
interface Event {
  readonly id: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly first_time: string;
  readonly last_time: string;
  readonly object: { readonly kind: string; readonly name: string };
  readonly source: string | null;
}

const EVENT: Shape<Event> = {
  nameOf: ({ id }) => id,
  columns: [
    { heading: 'FIRST', isWide: true, cell: (event) => timeText(event.first_time) },
    { heading: 'LAST', cell: (event) => timeText(event.last_time) },
    { heading: 'TYPE', cell: ({ type }) => type },
    { heading: 'COUNT', cell: ({ count }) => `${count}` },
    { heading: 'REASON', cell: ({ reason }) => visibleText(reason) },
    { heading: 'OBJECT', cell: ({ object }) => visibleText(`${object.kind}/${object.name}`) },
    { heading: 'SOURCE', isWide: true, cell: ({ source }) => visibleText(source ?? '') },
    { heading: 'MESSAGE', cell: ({ message }) => visibleText(message.replaceAll('\n', ' ')) },
  ],
};

const LOOK_MS = 2_000;
const LIMIT = 100;
/** The most that one answer has. */
const MAX_LIMIT = 1_000;

interface Listed<T> {
  readonly resources: readonly T[];
}

/** The newest events of all deployments, newest last. */
async function listAll(rest: RestClient, limit: number): Promise<readonly Event[]> {
  const { resources } = await rest.request<Listed<{ readonly id: string }>>(
    'GET',
    '/v2/deployments?limit=100',
  );
  const found: Event[] = [];
  for (const { id } of resources) {
    const path = `/v2/deployments/${id}/events?limit=${limit}`;
    found.push(...(await rest.request<Listed<Event>>('GET', path)).resources);
  }
  return found.sort((a, b) => a.last_time.localeCompare(b.last_time)).slice(-limit);
}

/** `agentplane events [NAME] [-w]`. */
export async function printEvents(name: string | undefined, flags: EventsFlags): Promise<void> {
  const rest = new RestClient(resolveTarget(flags).rest);
  const id = name === undefined ? undefined : await deploymentIdOf(rest, name);
  const list = async (limit: number): Promise<readonly Event[]> =>
    id === undefined
      ? listAll(rest, limit)
      : (await rest.request<Listed<Event>>('GET', `/v2/deployments/${id}/events?limit=${limit}`)).resources;
  const limit = flags.limit ?? LIMIT;
  if (flags.watch) {
    if (flags.output.kind === 'table' || flags.output.kind === 'wide')
      return await watch(() => list(MAX_LIMIT), limit, flags.output);
    throw new CommandError('usage', '--watch prints a table: leave out --output, or use -o wide');
  }
  const events = await list(limit);
  if (events.length === 0 && flags.output.kind === 'table')
    process.stderr.write(
      `no events of ${name ?? 'any deployment'}: the Kubernetes API forgets them after some time\n`,
    );
  process.stdout.write(await renderItems(flags.output, events, EVENT));
}

/** Prints the newest events, then each when it is new and again when it has happened once more. */
async function watch(
  list: () => Promise<readonly Event[]>,
  limit: number,
  format: OutputFormat,
): Promise<void> {
  const there = await list();
  const seen = new Map(there.map(({ id, count }) => [id, count]));
  process.stdout.write(await renderItems(format, there.slice(-limit), EVENT));
  let isAway = false;
  for (;;) {
    await systemClock.sleep(LOOK_MS);
    try {
      const events = await list();
      const fresh = events.filter(({ id, count }) => (seen.get(id) ?? 0) < count);
      for (const { id, count } of fresh) seen.set(id, count);
      const table = await renderItems(format, fresh, EVENT);
      process.stdout.write(table.slice(table.indexOf('\n') + 1));
      isAway = false;
    } catch (error) {
      if (error instanceof RestError && error.status === 404) return;
      if (error instanceof RestError && error.status < 500 && error.status !== 429) throw error;
      if (!isAway) process.stderr.write(`${visibleText(errorText(error))}; trying again\n`);
      isAway = true;
    }
  }
}
