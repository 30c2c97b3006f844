import { stringify } from 'yaml';
import { messageLines, readMessages } from '#lib/conversation';
import { costText, latencyText, type ReadRun, type RestRequests, tokensText } from '#lib/rest-client';

interface Values {
  readonly inputs: unknown;
  readonly outputs: unknown;
  readonly error: string | null;
}

/** A run for people: its facts, and its inputs and outputs as messages where they have some. @param isRaw as JSON */
export async function runLines(
  id: string,
  { rest, isRaw }: { readonly rest: RestRequests; readonly isRaw: boolean },
): Promise<readonly string[]> {
  const run = await rest.request<ReadRun & Values>('GET', `/runs/${encodeURIComponent(id)}`);
  if (isRaw) return jsonLines(run);
  const tokens = tokensText(run);
  const cost = costText(run.total_cost);
  const facts = [
    run.run_type,
    run.status,
    latencyText(run.latency),
    ...(tokens === '' ? [] : [`${tokens} tokens`]),
    ...(cost === '' || cost === '0' ? [] : [`$${cost}`]),
  ];
  return [
    `${run.name}  ${facts.join(' · ')}`,
    ...(run.error === null ? [] : ['', 'error', ...run.error.trimEnd().split('\n')]),
    ...section('inputs', run.inputs),
    ...section('outputs', run.outputs),
  ];
}

function section(title: string, value: unknown): readonly string[] {
  if (value === null || value === undefined) return [];
  const messages = readMessages(value);
  const lines = messages.length > 0 ? messages.flatMap(messageLines) : stringify(value).trimEnd().split('\n');
  return ['', title, ...lines.map((line) => `  ${line}`)];
}

function jsonLines(value: unknown): readonly string[] {
  return JSON.stringify(value, undefined, 2).split('\n');
}

/** Traces of a thread that are read for its conversation, the newest. */
const MOST_TURNS = 100;

/** The messages of a thread: those of its last state, and of each trace where states hold one turn alone. */
export async function threadLines(
  id: string,
  { rest, isRaw }: { readonly rest: RestRequests; readonly isRaw: boolean },
): Promise<readonly string[]> {
  const { runs } = await rest.request<{ readonly runs: readonly Values[] }>('POST', '/runs/query', {
    is_root: true,
    filter: `eq(thread_id, ${JSON.stringify(id)})`,
    select: ['inputs', 'outputs', 'error'],
    limit: MOST_TURNS,
  });
  if (isRaw) return jsonLines(runs.toReversed());
  const turns = runs.toReversed().map(({ inputs, outputs, error }) => {
    const [asked, answered] = [readMessages(inputs), readMessages(outputs)];
    // a state has the question among its messages
    const isState = answered.some(({ by }) => by === 'user');
    const lines = [...(isState ? [] : asked), ...answered].flatMap(messageLines);
    const failed = error === null ? [] : [`failed: ${error.trim().split('\n', 1)[0] ?? ''}`];
    return { isState, lines: [...lines, ...failed] };
  });
  const lastState = turns.findLastIndex(({ isState }) => isState);
  const lines = turns.slice(Math.max(0, lastState)).flatMap((turn) => turn.lines);
  return lines.length === 0 ? ['— nothing was said in messages: r shows its values'] : lines;
}
