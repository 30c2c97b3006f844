import { z } from 'zod';
import { valueAt, type JsonStep, type JsonWalk } from '#lib/json';
import { THREAD_FIELDS, type ThreadField, type ThreadText } from '../store/row/thread-row.js';

const MAX_PATHS = 10;
/** Of one path: no body nests deeper. */
const MAX_STEPS = 128;
/** `values.messages[-1].content`: names and positions, from the end when negative. */
const PATH = /^(values|metadata|config|interrupts|error)(\.[^.[\]]+|\[-?\d+\])*$/;

const STEP = /\[(-?\d+)\]|([^.[\]]+)/g;

/** Names of a caller's choice → paths into a thread. */
export const extraction = z
  .record(
    z.string(),
    z
      .string()
      .regex(PATH, 'must be a path such as values.messages[-1].content')
      .refine((path) => stepsOf(path).length <= MAX_STEPS, `must not have more than ${MAX_STEPS} steps`),
  )
  .refine((paths) => Object.keys(paths).length <= MAX_PATHS, `must not have more than ${MAX_PATHS} paths`);

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

/** What a thread has at those paths, as the text of a JSON object; null where it has nothing. */
export function* extractValues(thread: ThreadText, paths: Extraction): JsonWalk<string> {
  const members: string[] = [];
  for (const [name, path] of Object.entries(paths)) {
    const found = yield* valueAt(thread, stepsOf(path));
    members.push(`${JSON.stringify(name)}:${found ? thread.slice(found.start, found.end) : 'null'}`);
  }
  return `{${members.join(',')}}`;
}
