import { bar, bytes, count, visibleLine } from '#lib/command-line';
import type { WorkspaceDetails } from '#lib/rest-client';

const BAR = 20;
const TITLE = 22;
const AMOUNT = 9;
const UNKNOWN = 'not reported by the controller yet';

interface UseLine {
  readonly title: string;
  readonly used: number;
  /** Null: any number. Undefined: nothing bounds it by itself. */
  readonly most?: number | null;
  readonly isBytes?: true;
}

function useLines({ limits, usage }: WorkspaceDetails): readonly UseLine[] {
  return [
    { title: 'deployments', used: usage.deployments },
    { title: 'listeners', used: usage.listeners, most: limits.listeners },
    { title: 'destinations', used: usage.destinations },
    { title: 'export schedules', used: usage.export_schedules },
    { title: 'exports at work', used: usage.exports_running, most: limits.concurrent_exports },
    { title: 'exports waiting', used: usage.exports_waiting },
    { title: 'export runs at work', used: usage.export_runs_running },
    { title: 'export runs waiting', used: usage.export_runs_waiting },
    { title: 'API keys', used: usage.api_keys, most: limits.api_keys },
    { title: 'tracing projects', used: usage.tracing_projects, most: limits.tracing_projects },
    { title: 'datasets', used: usage.datasets, most: limits.datasets },
    {
      title: 'bytes of datasets',
      isBytes: true,
      used: usage.dataset_bytes,
      most: limits.dataset_bytes,
    },
    {
      title: 'bytes of attachments',
      isBytes: true,
      used: usage.attachment_bytes,
      most: limits.attachment_bytes,
    },
  ];
}

/** Limits and usage of a workspace, with a bar for each limit. */
export function workspaceLines(workspace: WorkspaceDetails): readonly string[] {
  const { name, display_name: title, plan, id, namespace, limits } = workspace;
  const { is_ready: isReady, status_reason: reason, status_message: message } = workspace;
  const state = isReady ? 'ready' : [reason ?? 'pending', message].filter(Boolean).join(': ');
  const facts: readonly (readonly [string, string])[] = [
    ['workspace', title === null ? name : `${name} (${title})`],
    ['plan', plan],
    ['state', state],
    ['tenant', id],
    ['namespace', namespace],
    ['runs are kept', retentionText(workspace)],
    ['runs of one export', atATime(limits.concurrent_runs_per_export)],
    ['ended exports', historyText(limits.export_history_hours)],
  ];
  return [
    ...facts.map(([about, text]) => `${about.padEnd(TITLE)}${visibleLine(text)}`),
    '',
    `${''.padEnd(TITLE)}${'used'.padStart(AMOUNT)}${'most'.padStart(AMOUNT)}`,
    ...useLines(workspace).map(renderUse),
  ];
}

function renderUse({ title, used, most, isBytes }: UseLine): string {
  const amount = isBytes ? bytes : count;
  const head = `${title.padEnd(TITLE)}${amount(used).padStart(AMOUNT)}`;
  if (most === undefined) return head;
  if (most === null) return `${head}${'-'.padStart(AMOUNT)}`;
  const share = most > 0 ? used / most : Number(used > 0);
  const percent = `${Math.floor(share * 100)}`.padStart(3);
  return `${head}${amount(most).padStart(AMOUNT)}  ${bar(share, BAR)} ${percent} %`;
}

function retentionText({ retention }: WorkspaceDetails): string {
  if (!retention) return 'for good';
  const days = (of: number): string => (of === 0 ? 'for good' : `for ${of} days`);
  const { shortlived_days: short, longlived_days: long, default_tier: tier } = retention;
  return `shortlived ${days(short)}, longlived ${days(long)}; ${tier} by default`;
}

function atATime(limit: number | null): string {
  return limit === null ? UNKNOWN : `${limit} at a time`;
}

function historyText(hours: number | null): string {
  return hours === null ? UNKNOWN : `in Kubernetes for ${hours} h, then in the archive`;
}
