import type { ContainerState } from '#lib/resources';

/** How an attempt at running a container ended. */
export type Termination = NonNullable<ContainerState['terminated']>;

/** Where a container is now. `waiting` after the first attempt carries how the last one ended. */
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
  /** The startup probe has passed, or there is none. */
  readonly isStarted: boolean;
  readonly isReady: boolean;
}
