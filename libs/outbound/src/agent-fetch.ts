import type { Admission } from '#lib/admission';
import { PublicError } from '#lib/errors';
import { hasMoreValues } from '#lib/json';
import type { AddressGuard } from './address-guard.js';
import { guardedFetch } from './guarded-fetch.js';

const MEGABYTE = 1_048_576;
/** Limits of an answer that is read as a whole, and of its items and members. */
const READ = { timeoutMs: 30_000, maxBytes: 8 * MEGABYTE };
const MAX_VALUES = 200_000;
/** Limits of the stream of one run. */
const STREAM = { timeoutMs: 15 * 60_000, maxBytes: 64 * MEGABYTE, maxEventBytes: 2 * MEGABYTE };

export interface AgentFetchOptions {
  readonly guard: AddressGuard;
  /** Answers that are read as a whole at once. */
  readonly reads: Admission;
  /** Owner of these reads. */
  readonly owner: string;
}

/**
 * A `fetch` for clients of agents, who write what they like: threads may be larger than a page can show. Streams of runs
 * come piece by piece; other answers are read before the client parses them.
 * @throws PublicError `too_large`, `unavailable`; errors of connections
 */
export function agentFetch({ guard, reads, owner }: AgentFetchOptions): typeof fetch {
  const [stream, read] = [guardedFetch({ ...STREAM, guard }), guardedFetch({ ...READ, guard })];
  return (input, init) => {
    if (new URL(input instanceof Request ? input.url : input).pathname.endsWith('/stream'))
      return stream(input, init);
    const signal = init?.signal ?? undefined;
    return reads.run(owner, async () => await readOut(() => read(input, init)), { signal });
  };
}

/** Values of JSON take far more memory than their text once they are parsed. */
async function readOut(read: () => Promise<Response>): Promise<Response> {
  try {
    const answer = await read();
    if (answer.body === null) return answer;
    const text = await answer.text();
    if (hasMoreValues(text, MAX_VALUES))
      throw new RangeError(`the answer has more than ${MAX_VALUES} items and members`);
    const { status, headers } = answer;
    return new Response(text, { status, headers });
  } catch (error) {
    throw refusalOf(error);
  }
}

function refusalOf(error: unknown): unknown {
  if (error instanceof RangeError) return new PublicError('too_large', `Reading failed: ${error.message}`);
  if (error instanceof Error && error.name === 'TimeoutError')
    return new PublicError('unavailable', `Reading failed: no answer within ${READ.timeoutMs / 1_000} s`);
  return error;
}
