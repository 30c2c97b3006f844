import type { Node, Pod } from '#lib/resources';
import { tolerates } from '../scheduler/tolerates.js';
import { NOT_READY_TAINT, UNREACHABLE_TAINT } from './decide-node-health.js';

/** Default that Kubernetes' admission gives every pod; used for pods that were admitted without it. */
const DEFAULT_SECONDS = 300;

/** Time at which a pod must leave its node, in milliseconds since the epoch; undefined: it may stay. */
export function evictionTimeMs(pod: Pod, node: Node): number | undefined {
  let earliest: number | undefined;
  for (const taint of node.spec?.taints ?? []) {
    if (taint.effect !== 'NoExecute') continue;
    const sinceMs = Date.parse(taint.timeAdded ?? '') || 0;
    const tolerations = (pod.spec.tolerations ?? []).filter((toleration) => tolerates(toleration, taint));
    if (tolerations.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) continue;
    const isOurs = taint.key === NOT_READY_TAINT || taint.key === UNREACHABLE_TAINT;
    const seconds = tolerations.map(({ tolerationSeconds = 0 }) => tolerationSeconds);
    const staySeconds = seconds.length > 0 ? Math.min(...seconds) : isOurs ? DEFAULT_SECONDS : 0;
    const atMs = sinceMs + Math.max(0, staySeconds) * 1000;
    earliest = earliest === undefined ? atMs : Math.min(earliest, atMs);
  }
  return earliest;
}
