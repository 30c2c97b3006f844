import type { KubeClient } from '#lib/kube';
import {
  byTime,
  containersOf,
  followLogs,
  keptLines,
  keptNames,
  LastLines,
  type LogLine,
  logSources,
  podFinder,
  readLogs,
} from '#lib/pod-logs';
import { CONFIG_MAPS, type Pod } from '#lib/resources';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import type { TargetFlags } from '../context/target.js';
import type { LogOwner } from './log-owner.js';

export interface LogsFlags extends TargetFlags {
  readonly namespace: string | undefined;
  readonly revision: string | undefined;
  readonly container: string | undefined;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly tail: number | undefined;
  /** Milliseconds before now. */
  readonly since: number | undefined;
  readonly timestamps: boolean;
  /** Undefined: for people. */
  readonly output: 'json' | undefined;
}

const IDLE_MS = 60_000;

export interface KubeLogs {
  readonly client: KubeClient;
  readonly owner: LogOwner;
  readonly flags: LogsFlags;
  readonly signal: AbortSignal;
  readonly onNote: (message: string) => void;
}

/**
 * The lines of an owner's pods by time; of a revision that failed and has none, what is kept of it.
 * @throws CommandError `notFound` when there is neither, or no container of the name
 */
export async function* kubeLogs(logs: KubeLogs): AsyncGenerator<readonly LogLine[], void, void> {
  const { client, owner, flags, signal, onNote } = logs;
  const { container, follow, previous, tail } = flags;
  const listPods = podFinder(client, owner.pods, { signal, onNote });
  const pods = await listPods();
  const kept = previous ? [] : await keptOutput(logs, pods);
  const since = flags.since === undefined ? undefined : sinceText(flags.since);
  checkNames(logs, pods, kept);
  const shown = since === undefined ? kept : kept.filter(({ time }) => time >= since);
  const before = shown.slice(tail === undefined ? 0 : Math.max(0, shown.length - tail));
  if (before.length > 0) yield before;
  const options = { client, container, tail, since, signal, onNote };
  if (follow) {
    const { endsWithPods } = owner;
    const more = { endsWithPods, idleMs: IDLE_MS, clock: systemClock, pods: listPods };
    yield* followLogs({ ...options, ...more });
    return;
  }
  const sources = logSources(pods, { container, previous });
  if (sources.length === 0 && kept.length === 0)
    onNote(previous ? 'no container has been restarted' : 'no container has started yet');
  const lines = readLogs(client, sources, { ...options, previous });
  if (tail === undefined) return yield* lines;
  const last = new LastLines(tail);
  for await (const batch of lines) last.add(batch);
  yield last.lines();
}

/** RFC 3339 with the digits that times of lines have, so that both compare as texts. */
export function sinceText(ms: number): string {
  const from = new Date(systemClock.now().getTime() - ms).toISOString();
  return from.replace(/Z$/, '000000Z');
}

async function keptOutput(
  { client, owner: { failed, built, namespace }, flags: { container, tail } }: KubeLogs,
  pods: readonly Pod[],
): Promise<readonly LogLine[]> {
  const names = keptNames({ built, failed }, pods);
  const found = await Promise.all(names.map((name) => client.find(CONFIG_MAPS, { namespace, name })));
  return found.flatMap((kept) => (kept ? keptLines(kept, { container, tail }) : [])).sort(byTime);
}

function checkNames(
  { owner, flags: { container, follow } }: KubeLogs,
  pods: readonly Pod[],
  kept: readonly LogLine[],
): void {
  if (kept.length > 0) return;
  if (pods.length === 0 && (!follow || owner.endsWithPods))
    throw new CommandError(
      'notFound',
      `${owner.title} has no pods: "agentplane describe ${owner.describedBy}" shows its state`,
    );
  const names = containersOf(pods);
  if (container !== undefined && pods.length > 0 && !names.includes(container))
    throw new CommandError(
      'notFound',
      `${owner.title} has no container ${container}: it has ${names.join(', ')}`,
    );
}
