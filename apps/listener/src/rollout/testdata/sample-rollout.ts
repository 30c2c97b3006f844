import {
  type AgentDeployment,
  type AgentRevision,
  type Condition,
  type ContainerStatus,
  type Deployment,
  POD_SUPPORTED,
  PROCESS_RUNTIME,
} from '#lib/resources';
import type { PodAnswer } from '../../place/ask-pod.js';
import { planRollout } from '../plan.js';
import { DEFAULT_PATIENCE, type RevisionWorld, type RolloutWorld } from '../world.js';

export const NOW = new Date('2026-05-01T12:00:00Z');
export const SECONDS = (count: number): string => new Date(NOW.getTime() - count * 1000).toISOString();

export function condition(type: string, status: 'True' | 'False', reason = type, age = 60): Condition {
  return { type, status, reason, message: `${type} because ${reason}`, lastTransitionTime: SECONDS(age) };
}

export interface Shape {
  readonly number: number;
  readonly conditions?: readonly Condition[];
  readonly ready?: boolean;
  readonly workload?: 'none';
  readonly age?: number;
  readonly container?: Partial<ContainerStatus>;
  /** What the node says of a field that it cannot honour. */
  readonly refusal?: string;
  /** What its pod answers to `GET /ok`. */
  readonly answer?: PodAnswer;
  /** For how many milliseconds it has been ready. */
  readonly readyFor?: number;
  readonly repeats?: number;
  /** What its pods run as; containers when unset. */
  readonly runtime?: 'process';
}

export function revision({
  number,
  conditions = [],
  ready = false,
  workload,
  age = 5,
  container,
  refusal,
  answer,
  readyFor = 60_000,
  repeats,
  runtime,
}: Shape): RevisionWorld {
  const name = `a-0000${number}`;
  const own = {
    metadata: { name, namespace: 'ws', generation: 1 },
    spec: { number, ...(repeats === undefined ? {} : { redeployOf: `a-0000${repeats}` }) },
    status: { conditions: [condition('Built', 'True'), ...conditions] },
  } as unknown as AgentRevision;
  return {
    revision: own,
    origin: own,
    lentTo: undefined,
    workload:
      workload === 'none'
        ? undefined
        : ({
            metadata: { name, generation: 2, creationTimestamp: SECONDS(age) },
            spec: { replicas: 1 },
            status: {
              observedGeneration: 2,
              updatedReplicas: 1,
              availableReplicas: ready ? 1 : 0,
              readyReplicas: ready ? 1 : 0,
            },
          } as unknown as Deployment),
    pods: container
      ? [
          {
            metadata: { name: `${name}-x`, creationTimestamp: SECONDS(age) },
            spec: { containers: [], ...(runtime === 'process' ? { nodeSelector: PROCESS_RUNTIME } : {}) },
            status: {
              ...(refusal === undefined
                ? {}
                : {
                    conditions: [
                      {
                        type: POD_SUPPORTED,
                        status: 'False' as const,
                        reason: 'NotSupported',
                        message: refusal,
                      },
                    ],
                  }),
              containerStatuses: [
                { name: 'agent', ready: false, restartCount: 0, image: 'local/x', imageID: '', ...container },
              ],
            },
          },
        ]
      : [],
    answers: new Map(answer ? [[`${name}-x`, answer]] : []),
    readyForMs: ready ? readyFor : undefined,
  };
}

export function world(serving: number | undefined, ...revisions: RevisionWorld[]): RolloutWorld {
  return {
    deployment: { metadata: { name: 'a' }, spec: {} } as unknown as AgentDeployment,
    revisions,
    elsewhere: [],
    service:
      serving === undefined
        ? undefined
        : {
            metadata: { name: 'a', labels: { 'agentplane.dev/revision': `a-0000${serving}` } },
            spec: { selector: { 'agentplane.dev/revision': `a-0000${serving}` } },
          },
  };
}

export function fates(observed: RolloutWorld): { serving: string | undefined; fates: string[] } {
  const plan = planRollout(observed, NOW, DEFAULT_PATIENCE);
  return { serving: plan.serving, fates: plan.revisions.map(({ fate }) => fate.kind) };
}

/** On its way up for so many seconds. */
export const UP = (age: number): Condition => ({
  ...condition('WorkloadsReady', 'False', 'Deploying', age),
  status: 'Unknown',
});
export const ACTIVE = condition('Active', 'True');
export const CRASHED = { exitCode: 78, message: '{"reason":"GraphLoadFailed","message":"no such file"}' };

export const WANTED = {
  exitCode: 75,
  message:
    '{"reason":"DependencyUnavailable","message":"waiting for the database a at 127.0.0.1:5432: no answer"}',
};
