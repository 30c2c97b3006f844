import { bar, bytes, count } from '#lib/command-line';
import { fit, span, sparkline } from '../render/fit.js';
import type { Scrape } from './exposition.js';

/** One look at every program that answered. */
export interface Look {
  readonly atMs: number;
  readonly programs: ReadonlyMap<string, Scrape>;
  /** Programs that did not answer. */
  readonly silent: readonly string[];
  /** Open access and data that is not kept, with the remedy. */
  readonly warnings: readonly string[];
  readonly disk: { readonly usedBytes: number; readonly allBytes: number } | undefined;
}

interface PulseLine {
  readonly title: string;
  readonly metric: string;
  /** Growth each second of a counter; else the value itself. */
  readonly isRate?: boolean;
  /** Each program reports the same: the highest counts. */
  readonly isShared?: boolean;
  readonly render: (value: number) => string;
}

const LINES: readonly PulseLine[] = [
  {
    title: 'requests',
    metric: 'agentplane_http_request_duration_seconds_count',
    isRate: true,
    render: perSecond,
  },
  { title: 'runs in progress', metric: 'agentplane_agent_runs_in_progress', render: count },
  { title: 'runs queued', metric: 'agentplane_agent_runs_queued', isShared: true, render: count },
  {
    title: 'attempts of runs',
    metric: 'agentplane_agent_run_attempts_total',
    isRate: true,
    render: perSecond,
  },
  { title: 'traced runs', metric: 'agentplane_ingest_operations_total', isRate: true, render: perSecond },
  { title: 'traced bytes', metric: 'agentplane_ingest_bytes_total', isRate: true, render: bytesPerSecond },
  { title: 'exported rows', metric: 'agentplane_export_attempt_rows_total', isRate: true, render: perSecond },
  {
    title: 'exported bytes',
    metric: 'agentplane_export_attempt_bytes_total',
    isRate: true,
    render: bytesPerSecond,
  },
  {
    title: 'oldest export',
    metric: 'agentplane_export_lag_seconds',
    isShared: true,
    render: (s) => span(s * 1000),
  },
  { title: 'to reconcile', metric: 'agentplane_reconcile_queue_depth', render: count },
  { title: 'kube requests', metric: 'agentplane_kube_requests_total', isRate: true, render: perSecond },
  { title: 'kube watches', metric: 'agentplane_kube_watches_open', render: count },
  { title: 'pods', metric: 'agentplane_node_pods', render: count },
];

const MEMORY = 'process_resident_memory_bytes';
const POINTS = 30;
const BAR = 24;

function perSecond(value: number): string {
  return `${value < 10 ? value.toFixed(1) : count(value)}/s`;
}

function bytesPerSecond(value: number): string {
  return `${bytes(value)}/s`;
}

/** The pulse of a platform: what its programs report, now and over the last looks. */
export class Pulse {
  readonly #values = new Map<string, readonly number[]>();
  #before: Look | undefined;

  /** Takes a look and renders the screen. */
  take(look: Look): readonly string[] {
    const lines = LINES.flatMap((line) => {
      const value = this.#valueOf(line, look);
      if (value === undefined) return [];
      const values = [...(this.#values.get(line.metric) ?? []), value].slice(-POINTS);
      this.#values.set(line.metric, values);
      return [`  ${line.title.padEnd(18)}${line.render(value).padStart(12)}  ${sparkline(values, POINTS)}`];
    });
    this.#before = look;
    return [
      ...lines,
      '',
      ...memoryLines(look),
      ...diskLines(look),
      ...silentLines(look),
      ...warningLines(look.warnings),
    ];
  }

  #valueOf({ metric, isRate, isShared }: PulseLine, look: Look): number | undefined {
    const now = combined(look, metric, isShared);
    if (now === undefined || !isRate) return now;
    const before = this.#before && combined(this.#before, metric, isShared);
    const elapsed = (look.atMs - (this.#before?.atMs ?? look.atMs)) / 1000;
    // a program that began again counts from zero
    return before === undefined || elapsed <= 0 ? 0 : Math.max(0, now - before) / elapsed;
  }
}

function combined({ programs }: Look, metric: string, isShared = false): number | undefined {
  const values = [...programs.values()]
    .flatMap((scrape) => scrape.get(metric) ?? [])
    .map(({ value }) => value);
  if (values.length === 0) return undefined;
  return isShared ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0);
}

function memoryLines({ programs }: Look): readonly string[] {
  const used = [...programs].flatMap(([name, scrape]) =>
    (scrape.get(MEMORY) ?? []).map(({ value }) => ({ name, value })),
  );
  const most = Math.max(1, ...used.map(({ value }) => value));
  const all = used.reduce((sum, { value }) => sum + value, 0);
  const lines = used
    .sort((a, b) => b.value - a.value)
    .map(({ name, value }) => `  ${fit(name, 34)}${bytes(value).padStart(10)}  ${bar(value / most, BAR)}`);
  return [`memory of ${used.length} programs: ${bytes(all)}`, ...lines];
}

function diskLines({ disk }: Look): readonly string[] {
  if (!disk) return [];
  const share = disk.usedBytes / disk.allBytes;
  return [
    '',
    `disk: ${bytes(disk.allBytes - disk.usedBytes)} free  ${bar(share, BAR)} ${Math.floor(share * 100)} %`,
  ];
}

function silentLines({ silent }: Look): readonly string[] {
  return silent.length === 0 ? [] : ['', `did not answer: ${silent.join(', ')}`];
}

/** Each in one line, as `agentplane status` shows it. */
export function warningLines(warnings: readonly string[]): readonly string[] {
  return warnings.length === 0 ? [] : ['', 'warnings:', ...warnings.map((warning) => `  ${warning}`)];
}
