import type { KubeObject } from '../object/kube-object.js';
import { at, listAt, numberAt, textAt } from '../object/reading.js';
import { age, columns, type TableKind } from './table-kind.js';

/** Pods, as Kubernetes sums up their containers in one word. */
export const podTable: TableKind = {
  columns: columns(
    'Name',
    'Ready',
    'Status',
    'Restarts',
    'Age',
    '+IP',
    '+Node',
    '+Nominated Node',
    '+Readiness Gates',
  ),
  cells(pod, now) {
    const summary = summarize(pod);
    const restarts =
      summary.restarts > 0 && summary.lastRestart !== ''
        ? `${summary.restarts} (${age(summary.lastRestart, now)} ago)`
        : String(summary.restarts);
    return [
      pod.metadata.name ?? '',
      `${summary.ready}/${listAt(pod, 'spec', 'containers').length + initContainers(pod).filter(isRestartable).length}`,
      summary.reason,
      restarts,
      age(pod.metadata.creationTimestamp, now),
      textAt(pod, ['status', 'podIPs', 0, 'ip']) || '<none>',
      textAt(pod, ['spec', 'nodeName']) || '<none>',
      textAt(pod, ['status', 'nominatedNodeName']) || '<none>',
      readinessGates(pod),
    ];
  },
};

interface Summary {
  readonly reason: string;
  readonly ready: number;
  readonly restarts: number;
  readonly lastRestart: string;
}

function summarize(pod: KubeObject): Summary {
  const init = summarizeInit(pod);
  const main =
    init.isInitializing && !hasCondition(pod, 'Initialized') ? init : summarizeContainers(pod, init);
  return { ...main, reason: deletionReason(pod) ?? main.reason };
}

function phaseReason(pod: KubeObject): string {
  const isGated = listAt(pod, 'status', 'conditions').some(
    (condition) => at(condition, 'type') === 'PodScheduled' && at(condition, 'reason') === 'SchedulingGated',
  );
  return isGated ? 'SchedulingGated' : textAt(pod, ['status', 'reason']) || textAt(pod, ['status', 'phase']);
}

interface InitSummary extends Summary {
  readonly isInitializing: boolean;
  /** Restarts of the sidecars among the init containers; these count on. */
  readonly sidecarRestarts: number;
  readonly sidecarLastRestart: string;
}

function summarizeInit(pod: KubeObject): InitSummary {
  const restartable = new Set(
    initContainers(pod)
      .filter(isRestartable)
      .map((container) => textAt(container, ['name'])),
  );
  const statuses = listAt(pod, 'status', 'initContainerStatuses');
  let summary: InitSummary = {
    reason: phaseReason(pod),
    ready: 0,
    restarts: 0,
    lastRestart: '',
    isInitializing: false,
    sidecarRestarts: 0,
    sidecarLastRestart: '',
  };
  for (const [index, status] of statuses.entries()) {
    const isSidecar = restartable.has(textAt(status, ['name']));
    summary = addInitRestarts(summary, status, isSidecar);
    if (at(status, 'state', 'terminated', 'exitCode') === 0) continue;
    if (isSidecar && at(status, 'started') === true) {
      summary = { ...summary, ready: summary.ready + (at(status, 'ready') === true ? 1 : 0) };
      continue;
    }
    return {
      ...summary,
      isInitializing: true,
      reason: initReason(status, index, initContainers(pod).length),
    };
  }
  return summary;
}

function addInitRestarts(summary: InitSummary, status: unknown, isSidecar: boolean): InitSummary {
  const count = numberAt(status, ['restartCount']);
  const finished = lastTermination(status);
  return {
    ...summary,
    restarts: summary.restarts + count,
    lastRestart: later(summary.lastRestart, finished),
    sidecarRestarts: summary.sidecarRestarts + (isSidecar ? count : 0),
    sidecarLastRestart: isSidecar ? later(summary.sidecarLastRestart, finished) : summary.sidecarLastRestart,
  };
}

function initReason(status: unknown, index: number, total: number): string {
  const terminated = at(status, 'state', 'terminated');
  if (terminated !== undefined) return `Init:${terminationReason(terminated)}`;
  const waiting = textAt(status, ['state', 'waiting', 'reason']);
  return waiting !== '' && waiting !== 'PodInitializing' ? `Init:${waiting}` : `Init:${index}/${total}`;
}

function terminationReason(terminated: unknown): string {
  const signal = numberAt(terminated, ['signal']);
  const code = signal !== 0 ? `Signal:${signal}` : `ExitCode:${numberAt(terminated, ['exitCode'])}`;
  return textAt(terminated, ['reason']) || code;
}

function summarizeContainers(pod: KubeObject, init: InitSummary): Summary {
  let { reason, ready } = init;
  let restarts = init.sidecarRestarts;
  let lastRestart = init.sidecarLastRestart;
  let hasRunning = false;
  for (const status of [...listAt(pod, 'status', 'containerStatuses')].reverse()) {
    restarts += numberAt(status, ['restartCount']);
    lastRestart = later(lastRestart, lastTermination(status));
    const waiting = textAt(status, ['state', 'waiting', 'reason']);
    const terminated = at(status, 'state', 'terminated');
    if (waiting !== '') reason = waiting;
    else if (terminated !== undefined) reason = terminationReason(terminated);
    else if (at(status, 'ready') === true && at(status, 'state', 'running') !== undefined) {
      hasRunning = true;
      ready++;
    }
  }
  if (reason === 'Completed' && hasRunning) reason = hasCondition(pod, 'Ready') ? 'Running' : 'NotReady';
  return { reason, ready, restarts, lastRestart };
}

function deletionReason(pod: KubeObject): string | undefined {
  if (pod.metadata.deletionTimestamp === undefined) return undefined;
  if (textAt(pod, ['status', 'reason']) === 'NodeLost') return 'Unknown';
  const phase = textAt(pod, ['status', 'phase']);
  return phase === 'Failed' || phase === 'Succeeded' ? undefined : 'Terminating';
}

function readinessGates(pod: KubeObject): string {
  const gates = listAt(pod, 'spec', 'readinessGates');
  if (gates.length === 0) return '<none>';
  return `${gates.filter((gate) => hasCondition(pod, textAt(gate, ['conditionType']))).length}/${gates.length}`;
}

function hasCondition(pod: KubeObject, type: string): boolean {
  return listAt(pod, 'status', 'conditions').some(
    (condition) => at(condition, 'type') === type && at(condition, 'status') === 'True',
  );
}

function initContainers(pod: KubeObject): readonly unknown[] {
  return listAt(pod, 'spec', 'initContainers');
}

function isRestartable(container: unknown): boolean {
  return at(container, 'restartPolicy') === 'Always';
}

function lastTermination(status: unknown): string {
  return textAt(status, ['lastState', 'terminated', 'finishedAt']);
}

function later(left: string, right: string): string {
  return left > right ? left : right;
}
