import type { KubeClient } from '#lib/kube';
import type { ContainerOutput } from '#lib/manifests';
import { type ContainerStatus, keyOf, type Pod } from '#lib/resources';

/** Statuses of all containers of a pod, those that run before the others first. */
export function containerStatuses({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

/** Number of times that a container has ended, the end from which it has not been started again included. */
export function endsOf({ restartCount, state }: ContainerStatus): number {
  return restartCount + (state?.terminated ? 1 : 0);
}

/** Kept of each container, in bytes. */
const OUTPUT_BYTES = 64 * 1024;
/** Read of a log at most: its lines may be long. */
const MAX_READ_BYTES = 4 * 1024 * 1024;
const TAIL_LINES = 2_000;
const TIMEOUT_MS = 5_000;
/** Containers of one pod whose output is kept: the whole must fit into one object. */
const MAX_CONTAINERS = 8;

/**
 * The output of the pod that reveals most about a failure: the one whose containers ended most often. For a
 * container that has been started again it is the output of the previous start, since the present one has
 * hardly begun.
 */
export async function podOutput(
  client: Pick<KubeClient, 'podLogs'>,
  pods: readonly Pod[],
): Promise<readonly ContainerOutput[]> {
  const [pod] = pods.toSorted((a, b) => allEndsOf(b) - allEndsOf(a));
  if (!pod) return [];
  const outputs: ContainerOutput[] = [];
  // the timeout covers all containers: a node that does not answer holds a rollout up once
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  for (const status of containerStatuses(pod).slice(0, MAX_CONTAINERS)) {
    const text = await outputOf(client, pod, status, signal);
    if (text !== '') outputs.push({ pod: pod.metadata.name, container: status.name, text });
  }
  return outputs;
}

function allEndsOf(pod: Pod): number {
  return containerStatuses(pod).reduce((sum, status) => sum + endsOf(status), 0);
}

/**
 * Output of a container; empty without any, or when its node does not give it: evidence is kept where it is
 * available, and holds nothing up.
 */
async function outputOf(
  client: Pick<KubeClient, 'podLogs'>,
  pod: Pod,
  { name, state, lastState }: ContainerStatus,
  signal: AbortSignal,
): Promise<string> {
  const previous = lastState?.terminated !== undefined && state?.running !== undefined;
  try {
    const log = await client.podLogs(keyOf(pod), {
      container: name,
      previous,
      timestamps: true,
      tailLines: TAIL_LINES,
      signal,
    });
    let kept = Buffer.alloc(0);
    let read = 0;
    for await (const chunk of log as AsyncIterable<Buffer>) {
      kept = Buffer.concat([kept, chunk]).subarray(-OUTPUT_BYTES);
      read += chunk.length;
      if (read > MAX_READ_BYTES) break;
    }
    return textOf(kept, read > kept.length);
  } catch {
    return '';
  }
}

/** Whole lines, without what no text of Kubernetes can hold. */
function textOf(bytes: Buffer, isCut: boolean): string {
  const text = bytes.toString('utf8').replaceAll('\u0000', '\uFFFD');
  return isCut ? text.slice(text.indexOf('\n') + 1) : text;
}
