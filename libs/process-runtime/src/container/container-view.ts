import type { ContainerState } from '#lib/resources';

/** Result of an attempt at running a container. */
export type Termination = NonNullable<ContainerState['terminated']>;

/** State of a container. `waiting` after the first attempt carries the result of the last one. */
export type ContainerPhase =
  | { readonly kind: 'waiting'; readonly reason: string; readonly message?: string }
  | { readonly kind: 'running'; readonly startedAt: Date }
  | { readonly kind: 'terminated'; readonly result: Termination };

/** Everything that a pod's status says of one container. */
export interface ContainerView {
  readonly name: string;
  readonly image: string;
  readonly containerId: string | undefined;
  readonly phase: ContainerPhase;
  readonly last: Termination | undefined;
  readonly restartCount: number;
  /** True when the startup probe has passed, or there is none. */
  readonly isStarted: boolean;
  readonly isReady: boolean;
}
