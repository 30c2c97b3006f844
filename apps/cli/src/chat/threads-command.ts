import type { Run, Thread } from '@langchain/langgraph-sdk';
import { visibleText } from '#lib/command-line';
import { answerLine, askedLine, messageLines, questionText, readMessages } from '#lib/conversation';
import { systemClock } from '#lib/time';
import { ageText } from '#lib/rest-client';
import { CommandError } from '../command-error.js';
import {
  isDocument,
  type OutputFormat,
  print,
  renderDocument,
  renderItems,
  type Shape,
} from '../output/print-items.js';
import { type AgentFlags, openAgent } from './agent-client.js';

export interface ThreadsFlags extends AgentFlags {
  readonly limit: number | undefined;
  readonly output: OutputFormat;
}

const LIMIT = 20;
/** Threads whose runs are looked at, those that changed last. */
const MOST_THREADS = 100;

function threadShape(now: Date): Shape<Thread> {
  return {
    nameOf: ({ thread_id: id }) => id,
    columns: [
      { heading: 'AGE', cell: ({ updated_at: at }) => ageText(at, now) },
      { heading: 'STATUS', cell: ({ status }) => status },
      { heading: 'INPUT', isCut: true, cell: ({ values }) => askedLine(values) },
      { heading: 'ANSWER', isCut: true, cell: ({ values }) => answerLine(values) },
      { heading: 'THREAD', cell: ({ thread_id: id }) => id },
    ],
  };
}

function runShape(now: Date): Shape<Run> {
  return {
    nameOf: ({ run_id: id }) => id,
    columns: [
      { heading: 'AGE', cell: ({ created_at: at }) => ageText(at, now) },
      { heading: 'STATUS', cell: ({ status }) => status },
      { heading: 'RUN', cell: ({ run_id: id }) => id },
      { heading: 'THREAD', isSpare: true, cell: ({ thread_id: id }) => id },
      { heading: 'CREATED', isWide: true, cell: ({ created_at: at }) => at },
    ],
  };
}

/** `agentplane threads list NAME`: those that changed last come first. */
export async function listThreads(name: string | undefined, flags: ThreadsFlags): Promise<void> {
  const { client } = await openAgent(name, flags);
  const limit = flags.limit ?? LIMIT;
  const threads = await client.threads.search({ limit, sortBy: 'updated_at', sortOrder: 'desc' });
  process.stdout.write(await renderItems(flags.output, threads, threadShape(systemClock.now())));
}

/** `agentplane threads show NAME ID`: what was said, in its order. */
export async function showThread(
  words: readonly string[],
  flags: AgentFlags & { readonly output: OutputFormat },
): Promise<void> {
  const [name, id] = flags.url === undefined ? words : [undefined, ...words];
  if (id === undefined)
    throw new CommandError(
      'usage',
      'threads show needs the id of a thread: "agentplane threads list" shows ids',
    );
  const { client } = await openAgent(name, flags);
  const state = await client.threads.getState<Readonly<Record<string, unknown>>>(id);
  const { output } = flags;
  if (isDocument(output)) {
    process.stdout.write(await renderDocument(output, state.values));
    return;
  }
  const messages = readMessages(state.values);
  if (messages.length === 0) process.stdout.write(await renderDocument({ kind: 'yaml' }, state.values));
  else for (const message of messages) print(`${messageLines(message).join('\n')}\n`);
  for (const { interrupts } of state.tasks)
    for (const { value } of interrupts ?? []) print(`asks  ${visibleText(questionText(value))}\n`);
}

/** `agentplane runs list NAME`: runs of the agent, the newest first. */
export async function listAgentRuns(
  name: string | undefined,
  { thread, ...flags }: ThreadsFlags & { readonly thread: string | undefined },
): Promise<void> {
  const { client } = await openAgent(name, flags);
  const limit = flags.limit ?? LIMIT;
  const newest = { limit: Math.min(limit, MOST_THREADS), sortBy: 'updated_at', sortOrder: 'desc' } as const;
  const ids =
    thread === undefined ? (await client.threads.search(newest)).map((one) => one.thread_id) : [thread];
  const runs: Run[] = [];
  for (const id of ids) runs.push(...(await client.runs.list(id, { limit })));
  const shown = runs.sort((a, b) => b.created_at.localeCompare(a.created_at)).slice(0, limit);
  process.stdout.write(await renderItems(flags.output, shown, runShape(systemClock.now())));
}
