import { isUuid } from '#lib/resources';
import { CommandError } from '../command-error.js';
import type { RestClient } from '../rest/rest-client.js';
import { RestError } from '../rest/rest-error.js';

/** A run as `POST /runs/query` answers it with `SELECTED`. */
export interface ReadRun {
  readonly id: string;
  readonly trace_id: string;
  readonly parent_run_id: string | null;
  readonly name: string;
  readonly run_type: string;
  readonly status: 'pending' | 'success' | 'error' | 'interrupted';
  /** RFC 3339. */
  readonly start_time: string;
  readonly end_time: string | null;
  /** Seconds; null while it lasts. */
  readonly latency: number | null;
  readonly total_tokens: number;
  /** A decimal; null where nothing is known. */
  readonly total_cost: string | null;
  readonly thread_id: string | null;
  readonly tags: readonly string[];
  readonly error: string | null;
  readonly dotted_order: string;
}

const SELECTED = [
  ...['id', 'trace_id', 'parent_run_id', 'name', 'run_type', 'status', 'start_time', 'end_time', 'latency'],
  ...['total_tokens', 'total_cost', 'thread_id', 'tags', 'error', 'dotted_order'],
];

/** What runs are wanted, in the words of the route. */
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
  /** More were not asked for. */
  readonly hasMore: boolean;
}

/** Runs in pages, up to `most`. */
export async function readRuns(rest: RestClient, wanted: RunsWanted, most: number): Promise<RunsFound> {
  const runs: ReadRun[] = [];
  let cursor: string | null = null;
  do {
    const page: { readonly runs: readonly ReadRun[]; readonly cursors: { readonly next: string | null } } =
      await rest.request('POST', '/runs/query', {
        ...{ ...wanted, select: SELECTED, limit: most - runs.length },
        ...(cursor === null ? {} : { cursor }),
      });
    runs.push(...page.runs);
    cursor = page.cursors.next;
  } while (cursor !== null && runs.length < most);
  return { runs, hasMore: cursor !== null };
}

/** One run with everything that it holds. @throws CommandError `notFound` */
export async function readWholeRun(rest: RestClient, id: string): Promise<Readonly<Record<string, unknown>>> {
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
