import { setImmediate } from 'node:timers/promises';
import { PublicError } from '#lib/errors';
import { isJsonObject, parseShort, type JsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import { AGENT_STATUS, type AgentStatus } from '../../run/protocol-reading.js';
import type { Reading } from '../../run/run-reading.js';
import type { RunOutputs } from '../../run/run-outputs.js';
import { findRunPlace, listThreadRuns, type ThreadRun } from '../../store/run/runs.js';
import type { Scope } from '../../store/scope.js';
import type { Sql } from '../../store/sql.js';
import { addressOf } from '../../stream/thread-protocol.js';
import { CommandError } from './command-error.js';

/** Pause after which the output of a run at another server, which arrives in pieces, counts as complete. */
const QUIET_MS = 250;
const LONGEST_MS = 2_000;

/** Limit per event of a part's progress; one with an error has its message too. */
const MAX_EVENT_BYTES = 256 * 1024;

/** Events per iteration of the event loop. */
const TURN = 2_000;

const STATUSES: ReadonlySet<string> = new Set(['started', 'running', 'completed', 'failed', 'interrupted']);

/** A part of the graph that was called, with those that it called. */
export interface AgentTreeNode {
  readonly namespace: readonly string[];
  status: AgentStatus;
  graph_name: string;
  readonly children: AgentTreeNode[];
}

export interface AgentTreeParts {
  readonly sql: Sql;
  readonly outputs: Pick<RunOutputs, 'read' | 'isKept'>;
  readonly clock: Clock;
}

/**
 * Parts of a graph that a run has called and the progress of each, by the output that is kept.
 * @param runId the newest run of the thread without it
 * @throws CommandError `no_such_run`
 */
export async function agentTree(
  of: { readonly scope: Scope; readonly threadId: string; readonly runId: string | undefined },
  parts: AgentTreeParts,
): Promise<AgentTreeNode> {
  const { scope, threadId, runId } = of;
  const from = await findRunPlace(scope, parts.sql, threadId, runId);
  const [run] =
    from === undefined
      ? []
      : await listThreadRuns(scope, parts.sql, threadId, { from, which: { kind: 'all' } });
  if (!run)
    throw new CommandError(
      'no_such_run',
      runId === undefined
        ? 'This thread has no run yet; start one by run.start'
        : `Run ${runId} is not a run of this thread`,
    );
  const root: AgentTreeNode = {
    namespace: [],
    status: AGENT_STATUS[run.status],
    graph_name: run.graphId,
    children: [],
  };
  const nodes = new Map([[keyOf([]), root]]);
  await eachLifecycle(run, of, parts, (namespace, data) => note(nodes, namespace, data));
  for (const [key, node] of nodes)
    if (key !== keyOf([])) parentOf(nodes, node.namespace, root).children.push(node);
  return root;
}

/** Reads events without keeping them: they are many. */
async function eachLifecycle(
  run: ThreadRun,
  { scope, threadId }: { readonly scope: Scope; readonly threadId: string },
  { outputs, clock }: AgentTreeParts,
  visit: (namespace: readonly string[], data: JsonObject) => void,
): Promise<void> {
  let reading: Reading | undefined;
  let isNews = false;
  const reader = {
    kind: 'output' as const,
    attach: (given: Reading): void => void (reading = given),
    more: (): void => void (isNews = true),
  };
  const isHere = outputs.isKept(run.runId);
  let stop: () => void;
  try {
    stop = await outputs.read(scope, run.runId, threadId, reader, { kind: 'kept' });
  } catch (error) {
    if (error instanceof PublicError && error.code === 'not_found') return;
    throw error;
  }
  try {
    for (const endMs = clock.monotonicMs() + LONGEST_MS; reading;) {
      let taken = 0;
      for (let next = reading.take(); next; next = reading.take()) {
        if (++taken % TURN === 0) await setImmediate();
        const address = addressOf(next.event);
        if (address?.channel !== 'lifecycle' || next.bytes > MAX_EVENT_BYTES) continue;
        const event = parseShort(next.data, MAX_EVENT_BYTES);
        const data = isJsonObject(event) ? event['data'] : undefined;
        if (isJsonObject(data)) visit(address.namespace, data);
      }
      if (isHere || reading.state !== 'waiting' || clock.monotonicMs() > endMs) break;
      isNews = false;
      await clock.sleep(QUIET_MS);
      if (!isNews) break;
    }
  } finally {
    stop();
  }
}

function keyOf(namespace: readonly string[]): string {
  return JSON.stringify(namespace);
}

function note(nodes: Map<string, AgentTreeNode>, namespace: readonly string[], data: JsonObject): void {
  const { event, graph_name: name } = data;
  if (typeof event !== 'string' || !isStatus(event)) return;
  const node = nodes.get(keyOf(namespace)) ?? { namespace, status: event, graph_name: '', children: [] };
  nodes.set(keyOf(namespace), node);
  node.status = event;
  if (typeof name === 'string') node.graph_name = name;
}

function isStatus(event: string): event is AgentStatus {
  return STATUSES.has(event);
}

/** The nearest one above it that is known. */
function parentOf(
  nodes: ReadonlyMap<string, AgentTreeNode>,
  namespace: readonly string[],
  root: AgentTreeNode,
): AgentTreeNode {
  for (let length = namespace.length - 1; length > 0; length--) {
    const node = nodes.get(keyOf(namespace.slice(0, length)));
    if (node) return node;
  }
  return root;
}
