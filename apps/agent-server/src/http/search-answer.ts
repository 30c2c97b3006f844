import { setImmediate } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { PublicError } from '#lib/errors';
import { isJsonObject, type JsonStep, type JsonWalk, valueAt } from '#lib/json';
import { sizedFirst } from '../run/requested-run.js';
import { THREAD_FIELDS, type ThreadField, type ThreadText } from '../store/row/thread-row.js';

const MAX_PATHS = 10;
/** Characters that may always be taken, whatever the size of the thread and however the paths overlap. */
const ALWAYS_CHARS = 1 << 20;
const MAX_PATH_CHARS = 4_096;
/** Steps per path: no body nests deeper. */
const MAX_STEPS = 128;
/** `values.messages[-1].content`: names and positions, from the end when negative. */
const PATH = /^(values|metadata|config|interrupts|error)(\.[^.[\]]+|\[-?\d+\])*$/;

const STEP = /\[(-?\d+)\]|([^.[\]]+)/g;

/** Names of a caller's choice → paths into a thread. */
export const extraction = sizedFirst(
  z.record(
    z.string(),
    z
      .string()
      // later checks read no longer one
      .max(MAX_PATH_CHARS, { abort: true, error: `must not be longer than ${MAX_PATH_CHARS} characters` })
      .regex(PATH, 'must be a path such as values.messages[-1].content')
      .refine((path) => stepsOf(path).length <= MAX_STEPS, `must not have more than ${MAX_STEPS} steps`),
  ),
  (given) =>
    isJsonObject(given) && Object.keys(given).length > MAX_PATHS
      ? `must not have more than ${MAX_PATHS} paths`
      : undefined,
);

type Extraction = z.infer<typeof extraction>;

function stepsOf(path: string): JsonStep[] {
  return [...path.matchAll(STEP)].map(([, position, name = '']) =>
    position === undefined ? name : Number(position),
  );
}

/** The fields of a thread in which those paths begin. */
export function extractedFields(paths: Extraction): ThreadField[] {
  const roots = new Set(Object.values(paths).map((path) => stepsOf(path)[0]));
  return THREAD_FIELDS.filter((field) => roots.has(field));
}

/**
 * Values of a thread at those paths, as the text of a JSON object; null for a path without a value.
 * @throws PublicError too_large when the paths name the same parts of a large thread again and again
 */
export function* extractValues(thread: ThreadText, paths: Extraction): JsonWalk<string> {
  const members: string[] = [];
  const most = Math.max(thread.length, ALWAYS_CHARS);
  let length = 0;
  for (const [name, path] of Object.entries(paths)) {
    const found = yield* valueAt(thread, stepsOf(path));
    length += found ? found.end - found.start : 0;
    if (length > most)
      throw new PublicError(
        'too_large',
        `The paths of extract name more than the thread has (${thread.length} characters): name each part once`,
      );
    members.push(`${JSON.stringify(name)}:${found ? thread.slice(found.start, found.end) : 'null'}`);
  }
  return `{${members.join(',')}}`;
}

/** The requested fields of rows; without names, all. */
export function selected(
  rows: readonly object[],
  names: readonly string[] | null | undefined,
): readonly object[] {
  if (!names || names.length === 0) return rows;
  const wanted = new Set(names);
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => wanted.has(name))));
}

/** Sets headers with the number of rows, and the start of the next page when there is one. */
export function paginate(
  reply: FastifyReply,
  page: { readonly limit: number; readonly offset: number },
  found: number,
  total: number,
): void {
  reply.header('x-pagination-total', String(total));
  if (page.offset + found < total && found > 0)
    reply.header('x-pagination-next', String(page.offset + found));
}

/** Answers with a text that is JSON already. */
export function asJson(reply: FastifyReply, text: string | Buffer): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(text);
}

/**
 * Characters converted to bytes at once; a longer list converts each text in a separate iteration of the
 * event loop.
 */
const MAX_AT_ONCE_CHARS = 1_000_000;

/** JSON texts as a list. Tens of megabytes that are joined as text are copied three times at a stretch. */
export async function jsonList(texts: readonly string[]): Promise<string | Buffer> {
  if (texts.reduce((sum, { length }) => sum + length, 0) < MAX_AT_ONCE_CHARS) return `[${texts.join(',')}]`;
  const parts: Buffer[] = [];
  for (const text of texts) {
    parts.push(Buffer.from(parts.length === 0 ? '[' : ','), Buffer.from(text));
    await setImmediate();
  }
  return Buffer.concat([...parts, Buffer.from(']')]);
}
