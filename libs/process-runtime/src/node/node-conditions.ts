import {
  CPU_LIMITS_KEPT,
  type NodeCondition,
  PODS_RUN_AS_ROOT,
  PODS_SHARE_USER,
  SHARED_USER_MESSAGE,
} from '#lib/resources';

/** Features that this machine lacks. */
export interface NodeTroubles {
  /** Reason why pods run as root; undefined when they do not. */
  readonly rootProblem: string | undefined;
  /** True when all pods have the user of this process, which is not root on Linux. */
  readonly isUserShared: boolean;
  /** Reason why limits of CPU are not kept; undefined when they are. */
  readonly cpuProblem: string | undefined;
}

/** All conditions of the Node; those of walls between pods exist only while there are none. */
export function nodeConditions(
  now: string,
  isReady: boolean,
  { rootProblem, isUserShared, cpuProblem }: NodeTroubles,
): readonly NodeCondition[] {
  const condition = (
    type: string,
    reason: string,
    status: 'True' | 'False',
    message = 'process runtime is posting ready status',
  ): NodeCondition => ({
    type,
    reason,
    status,
    message,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  return [
    condition('MemoryPressure', 'ProcessRuntime', 'False'),
    condition('DiskPressure', 'ProcessRuntime', 'False'),
    condition('PIDPressure', 'ProcessRuntime', 'False'),
    isReady
      ? condition('Ready', 'ProcessRuntimeReady', 'True')
      : condition(
          ...(['Ready', 'ProcessRuntimeStopped', 'False'] as const),
          'agentplane was stopped on this machine; start it again',
        ),
    cpuProblem === undefined
      ? condition(CPU_LIMITS_KEPT, 'ControlGroups', 'True', 'limits of CPU are kept by control groups')
      : condition(
          ...([CPU_LIMITS_KEPT, 'NoControlGroups', 'False'] as const),
          `CPU limits are not enforced on this machine: ${cpuProblem}`,
        ),
    ...(rootProblem === undefined
      ? []
      : [
          condition(
            ...([PODS_RUN_AS_ROOT, 'NoUsersOfTheirOwn', 'True'] as const),
            `pods run as root and can read everything here: ${rootProblem}`,
          ),
        ]),
    ...(isUserShared ? [condition(PODS_SHARE_USER, 'UserOfThePlatform', 'True', SHARED_USER_MESSAGE)] : []),
  ];
}
