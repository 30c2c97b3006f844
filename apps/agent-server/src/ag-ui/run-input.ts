import { z } from 'zod';
import { isJsonObject, jsonEquals, type JsonObject, type MutableJsonObject } from '#lib/json';
import { parseBody } from '../run/requested-run.js';
import type { Agent } from '../a2a/agents.js';
import { id, message, graphMessageOf } from './messages.js';

const runInput = z.object({
  threadId: id,
  runId: id,
  state: z.unknown().optional(),
  messages: z.array(message).max(10_000),
  tools: z.array(z.unknown()).max(1_000).nullish(),
  context: z.array(z.unknown()).max(1_000).nullish(),
  forwardedProps: z.unknown().optional(),
  resume: z
    .array(
      z.object({
        interruptId: id,
        status: z.enum(['resolved', 'cancelled']),
        payload: z.unknown().optional(),
      }),
    )
    .max(1_000)
    .nullish(),
});

/** Shape of requests, for the description of the routes. */
export const RUN_INPUT: z.ZodType = runInput;

/** A run as a page asks for it. */
export type RunInput = z.infer<typeof runInput>;

/** @throws PublicError `invalid` */
export function parseRunInput(body: unknown): RunInput {
  return parseBody(runInput, body);
}

/** A thread as it is before the run. */
export interface Before {
  readonly values: JsonObject;
}

/** Parts of the body of `POST /threads/:thread_id/runs`. */
export interface AskedRun {
  readonly body: MutableJsonObject;
  /** Members of the state that the graph's input does not have. */
  readonly ignored: readonly string[];
}

function idsOf({ values }: Before): ReadonlySet<unknown> {
  const { messages } = values;
  return new Set(Array.isArray(messages) ? messages.filter(isJsonObject).map((given) => given['id']) : []);
}

/** Name that steers LangGraph, or belongs to the messages themselves. */
function isReserved(key: string): boolean {
  return key === 'messages' || key.startsWith('__');
}

/**
 * The input of a run: messages that the thread does not hold, and members of the state that the page changed.
 * Pages send both whole; a graph's reducers would add what is there already a second time.
 */
export function askedRunOf(
  { state, messages, resume, tools, context, forwardedProps, runId }: RunInput,
  before: Before,
  { inputKeys }: Pick<Agent, 'inputKeys'>,
): AskedRun {
  const known = idsOf(before);
  const changed = Object.entries(isJsonObject(state) ? state : {}).filter(
    ([key, value]) => !isReserved(key) && !jsonEquals(value, before.values[key]),
  );
  const taken = changed.filter(([key]) => inputKeys?.has(key) ?? true);
  const added = messages
    .filter((given) => !known.has(given.id))
    .flatMap((given) => graphMessageOf(given) ?? []);
  const input = { ...Object.fromEntries(taken), ...(added.length > 0 ? { messages: added } : {}) };
  const answers = (resume ?? []).map(({ interruptId, status, payload }) => [
    interruptId,
    status === 'resolved' ? (payload ?? null) : null,
  ]);
  const isAnswer = answers.length > 0;
  return {
    body: {
      ...(isAnswer
        ? {
            command: {
              resume: Object.fromEntries(answers) as JsonObject,
              ...(Object.keys(input).length > 0 ? { update: input } : {}),
            },
          }
        : { input }),
      config: {
        configurable: {
          ag_ui: { tools: tools ?? [], context: context ?? [], forwarded_props: forwardedProps ?? {} },
        },
      },
      metadata: { ag_ui: { run_id: runId } },
    },
    ignored: changed.flatMap(([key]) => (inputKeys && !inputKeys.has(key) ? [key] : [])),
  };
}
