import type { ShownState } from '#lib/resources';
import { costText, latencyText, tokensText } from '#lib/rest-client';
import type { Item, StepItem, ThreadItem, TraceItem } from '../world/items.js';
import { age } from '../render/fit.js';
import { NAME } from './export-cells.js';
import { defineView } from './view.js';

/** A key as REST lists it; its name as an item is its id. */
export interface KeyItem extends Item {
  readonly key: {
    readonly name: string;
    readonly scope: string;
    readonly created_at: string;
    readonly expires_at: string | null;
    readonly last_used_at?: string | null;
  };
}

const KEY_STATE: ShownState = { word: 'InForce', tone: 'good', message: '' };

export const KEYS = defineView<KeyItem>({
  name: 'keys',
  aliases: ['key', 'apikeys'],
  about: 'API keys in force; the keys themselves are stored nowhere',
  source: { kind: 'rest', name: 'keys' },
  state: () => KEY_STATE,
  columns: [
    { heading: 'NAME', cell: ({ key }) => key.name },
    { heading: 'ID', cell: ({ metadata }) => metadata.name },
    { heading: 'SCOPE', cell: ({ key }) => key.scope },
    { heading: 'AGE', cell: ({ key }, { now }) => age(key.created_at, now), align: 'right', isLive: true },
    { heading: 'EXPIRES', cell: ({ key }) => key.expires_at?.slice(0, 10) ?? 'never' },
  ],
  actions: [
    {
      key: 'ctrl-d',
      word: 'revoke',
      about: 'revoke the marked or selected keys',
      danger: 'whatever uses it is refused from now on',
      perform: async ({ metadata, key }, { rest }) => {
        await rest?.request('DELETE', `/api/v1/api-key/${encodeURIComponent(metadata.name)}`);
        return `${key.name} revoked`;
      },
    },
  ],
  hint: 'none',
});

const TRACE_TONES = { pending: 'busy', success: 'good', error: 'bad', interrupted: 'quiet' } as const;

function traceState({ run }: { readonly run: Pick<TraceItem['run'], 'status' | 'error'> }): ShownState {
  const word = run.status.charAt(0).toUpperCase() + run.status.slice(1);
  return { word, tone: TRACE_TONES[run.status], message: run.error ?? '' };
}

function seconds(latency: number | null): string {
  return latency === null ? '' : latency < 100 ? `${latency.toFixed(2)} s` : `${Math.round(latency)} s`;
}

export const TRACES = defineView<TraceItem>({
  name: 'traces',
  aliases: ['trace', 'tr'],
  about: 'the newest 100 traces; "/" takes conditions such as eq(status, "error")',
  takesConditions: true,
  fields: { thread: ({ run }) => run.thread_id ?? undefined },
  source: { kind: 'rest', name: 'traces' },
  state: traceState,
  columns: [
    { heading: 'INPUT', cell: ({ run }) => run.asked || run.name },
    {
      heading: 'AGE',
      cell: ({ run }, { now }) => age(run.start_time, now),
      rank: ({ run }) => -Date.parse(run.start_time),
      align: 'right',
      isLive: true,
    },
    { heading: 'ANSWER', cell: ({ run }) => run.answered },
    { heading: 'PROJECT', cell: ({ run }) => run.project },
    {
      heading: 'TIME',
      cell: ({ run }) => seconds(run.latency),
      rank: ({ run }) => -(run.latency ?? 0),
      align: 'right',
    },
    {
      heading: 'TOKENS',
      cell: ({ run }) => String(run.total_tokens || ''),
      rank: ({ run }) => -run.total_tokens,
      align: 'right',
    },
    {
      heading: 'COST',
      cell: ({ run }) => (run.total_cost === null ? '' : Number(run.total_cost).toFixed(4)),
      rank: ({ run }) => -Number(run.total_cost ?? 0),
      align: 'right',
    },
    { heading: 'NAME', cell: ({ run }) => run.name, isWide: true },
    { heading: 'THREAD', cell: ({ run }) => run.thread_id ?? '', isWide: true },
    { heading: 'STARTED', cell: ({ run }) => run.start_time.slice(0, 19).replace('T', ' '), isWide: true },
    { heading: 'TYPE', cell: ({ run }) => run.run_type, isWide: true },
    { ...NAME, heading: 'ID', isWide: true },
  ],
  order: ({ run }) => -Date.parse(run.start_time),
  enter: ({ metadata: { namespace }, run }) => ({
    kind: 'view',
    view: 'steps',
    scope: { title: run.asked || run.name, field: 'trace', value: run.trace_id, namespace },
  }),
  actions: [],
  hint: 'none yet: runs of agents make traces',
});

export const STEPS = defineView<StepItem>({
  name: 'steps',
  aliases: ['step', 'tree'],
  about: 'the runs of a trace as a tree; Enter shows what one was given and answered',
  source: { kind: 'rest', name: 'steps' },
  state: ({ row: { run } }) => traceState({ run }),
  columns: [
    { heading: 'RUN', cell: ({ row }) => row.title },
    { heading: 'WHEN', cell: ({ row }) => row.bar },
    { heading: 'TIME', cell: ({ row: { run } }) => latencyText(run.latency), align: 'right' },
    { heading: 'TOKENS', cell: ({ row: { run } }) => tokensText(run), align: 'right' },
    { heading: 'COST', cell: ({ row: { run } }) => costText(run.total_cost), align: 'right' },
    { heading: 'TYPE', cell: ({ row: { run } }) => run.run_type, isWide: true },
    { heading: 'ID', cell: ({ metadata }) => metadata.name, isWide: true },
  ],
  order: ({ at }) => at,
  fields: { trace: ({ row: { run } }) => run.trace_id },
  enter: () => ({ kind: 'text', text: 'run' }),
  actions: [],
  hint: 'Enter on a row of ":traces" shows the runs of that trace',
});

export const THREADS = defineView<ThreadItem>({
  name: 'threads',
  aliases: ['thread', 'th'],
  about: 'threads of an agent in the last 30 days; Enter shows what was said',
  source: { kind: 'rest', name: 'threads' },
  state: ({ thread: { failed } }) =>
    failed > 0
      ? { word: 'Failed', tone: 'bad', message: `${failed} of its traces failed` }
      : { word: 'Fine', tone: 'good', message: '' },
  columns: [
    { heading: 'LAST INPUT', cell: ({ thread }) => thread.asked },
    {
      heading: 'AGE',
      cell: ({ thread }, { now }) => age(thread.start_time, now),
      rank: ({ thread }) => -Date.parse(thread.start_time),
      align: 'right',
      isLive: true,
    },
    { heading: 'ANSWER', cell: ({ thread }) => thread.answered },
    {
      heading: 'TRACES',
      cell: ({ thread }) => String(thread.count),
      rank: ({ thread }) => -thread.count,
      align: 'right',
    },
    { heading: 'TOKENS', cell: ({ thread }) => String(thread.total_tokens || ''), align: 'right' },
    { heading: 'COST', cell: ({ thread }) => costText(thread.total_cost), align: 'right' },
    { heading: 'THREAD', cell: ({ metadata }) => metadata.name },
    { heading: 'PROJECT', cell: ({ thread }) => thread.project, isWide: true },
  ],
  order: ({ thread }) => -Date.parse(thread.start_time),
  enter: () => ({ kind: 'text', text: 'conversation' }),
  actions: [],
  hint: 'none yet; ":threads" has those of the newest project, "m" on an agent has its own',
});
