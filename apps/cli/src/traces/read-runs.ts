import { isUuid } from '#lib/resources';
import { type RestClient, RestError } from '#lib/rest-client';
import { type ReadRun, RUN_FIELDS } from '#lib/trace-tree';
import { CommandError } from '../command-error.js';

/** Filters for runs, in the words of the route. */
export interface RunsWanted {
  readonly session?: readonly string[];
  readonly trace?: string;
  readonly is_root?: boolean;
  readonly error?: boolean;
  readonly filter?: string;
  readonly start_time?: string;
  readonly end_time?: string;
  readonly order?: 'asc' | 'desc';
}

export interface RunsFound {
  readonly runs: readonly ReadRun[];
  /** True when more runs exist than were asked for. */
  readonly hasMore: boolean;
}

/** Runs in pages, up to `most`. @param fields beside those of `ReadRun` */
export async function readRuns(
  rest: RestClient,
  wanted: RunsWanted,
  most: number,
  fields: readonly string[] = [],
): Promise<RunsFound> {
  const runs: ReadRun[] = [];
  let cursor: string | null = null;
  do {
    const page: { readonly runs: readonly ReadRun[]; readonly cursors: { readonly next: string | null } } =
      await rest.request('POST', '/runs/query', {
        ...wanted,
        select: [...RUN_FIELDS, ...fields],
        limit: most - runs.length,
        ...(cursor === null ? {} : { cursor }),
      });
    runs.push(...page.runs);
    cursor = page.cursors.next;
  } while (cursor !== null && runs.length < most);
  return { runs, hasMore: cursor !== null };
}

/** The id of a trace as logs of OpenTelemetry print it. */
const HEX_ID = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i;

/**
 * One run with everything that it holds; of a trace its root.
 * @param named as a UUID, or as 32 hexadecimal digits
 * @throws CommandError `notFound`
 */
export async function readWholeRun(
  rest: RestClient,
  named: string,
): Promise<Readonly<Record<string, unknown>>> {
  const id = named.replace(HEX_ID, '$1-$2-$3-$4-$5');
  if (!isUuid(id))
    throw new CommandError('usage', `${id} is no id of a trace or run: "agentplane traces list" shows ids`);
  try {
    return await rest.request('GET', `/runs/${id}`);
  } catch (error) {
    if (error instanceof RestError && error.status === 404)
      throw new CommandError(
        'notFound',
        `no run or trace has the id ${id}: "agentplane traces list" shows those that exist`,
      );
    throw error;
  }
}
