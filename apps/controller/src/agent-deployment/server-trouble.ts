import type { KubeClient } from '#lib/kube';
import { containerStatuses } from '#lib/pod-logs';
import {
  EVENTS,
  type KubeEvent,
  type ObjectKey,
  type Pod,
  POD_SCHEDULED,
  PODS,
  type StatefulSet,
} from '#lib/resources';

/** Reasons of containers that are starting. */
const STARTS = new Set(['ContainerCreating', 'PodInitializing']);
const STARTING = 'its pod is starting';
/** Limit of events: any writer of events in the namespace can make any number, of a megabyte each. */
const MOST_EVENTS = 20;
const MOST_CHARACTERS = 1_000;

/** True when the one pod of a StatefulSet is ready and runs its current revision. */
export function isServerReady(statefulSet: StatefulSet | undefined): boolean {
  const { status, metadata } = statefulSet ?? {};
  return (
    status !== undefined &&
    status.observedGeneration === metadata?.generation &&
    status.currentRevision === status.updateRevision &&
    (status.readyReplicas ?? 0) > 0
  );
}

/** Reason why the pod is not ready, as itself and the events of its StatefulSet report it. */
export async function serverTrouble(
  client: KubeClient,
  { namespace, name }: ObjectKey,
  statefulSet: StatefulSet | undefined,
): Promise<string> {
  const pod = await client.find(PODS, { namespace, name: `${name}-0` });
  if (pod) return podTrouble(pod) ?? STARTING;
  if (!statefulSet) return 'it does not exist';
  // a StatefulSet whose pod is refused says so in events alone
  const pages = client.pages<KubeEvent>(EVENTS, {
    ...(namespace === undefined ? {} : { namespace }),
    pageSize: MOST_EVENTS,
    fieldSelector: `involvedObject.kind=StatefulSet,involvedObject.name=${name},type=Warning`,
  });
  const { value } = await pages.next();
  const items = value ? value.items : [];
  const [last] = items.toSorted((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1));
  return last?.message?.slice(0, MOST_CHARACTERS) ?? STARTING;
}

function podTrouble(pod: Pod): string | undefined {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === POD_SCHEDULED);
  if (scheduled?.status === 'False')
    return `no node takes its pod: ${scheduled.message ?? scheduled.reason ?? 'no reason given'}`;
  for (const { state, lastState } of containerStatuses(pod)) {
    const ended = state?.terminated ?? lastState?.terminated;
    if (ended) {
      const said = (ended.message ?? '').trim().split('\n').at(-1);
      return [`Postgres ended with ${ended.exitCode}`, ended.reason, said].filter(Boolean).join(': ');
    }
    const { reason, message } = state?.waiting ?? {};
    if (reason !== undefined && !STARTS.has(reason)) return [reason, message].filter(Boolean).join(': ');
  }
  return undefined;
}

function timeOf({ lastTimestamp, eventTime }: KubeEvent): string {
  return lastTimestamp ?? eventTime ?? '';
}
