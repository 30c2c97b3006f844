import type { EventRecorder, KubeClient, KubeConnection } from '#lib/kube';
import type { Amounts } from '#lib/kube-semantics';
import type { Pod } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { CpuLimits } from '../cpu/cpu-limits.js';
import type { LoopbackPorts } from '../port/loopback-ports.js';
import type { Spares } from '../spare/spares.js';
import type { ReadBounds } from '../strays/bounded-reader.js';
import type { Stray } from '../strays/end-strays.js';
import type { EndedProcesses } from '../strays/user-processes.js';
import type { PodUser } from '../user/pod-user.js';
import type { Tools } from '../user/spawn-request.js';
import type { MemoryWatch } from './memory-watch.js';
import type { SleepWatch } from './sleep-watch.js';

/** Image as the node starts it. */
export interface FoundImage {
  readonly folder: string | undefined;
  readonly entryPoint: string;
  /** True when its program can be started as a spare, before it knows the rest (`SPARE` of the library lifecycle). */
  readonly hasSpares?: boolean;
}

/** Finds what an image reference means on this machine. */
export interface ImageResolver {
  /**
   * `undefined`: there is no such image for this reader.
   * @param reader the namespace of the pod, and the group of its processes where they have a user of their own
   */
  resolve(
    reference: string,
    reader: { readonly namespace: string; readonly gid: number | undefined },
  ): Promise<FoundImage | undefined>;
}

/** User whose processes are ended. */
export interface EndedUser {
  /** A user of pods; undefined: all of them. */
  readonly uid?: number;
  readonly clock: Clock;
  /** Limits of the waiting. Default: none. */
  readonly bounds?: ReadBounds;
  /** Asked before each process is killed: whether still no pod runs as that user. */
  readonly isIdle: () => boolean;
}

/** Knows whom pods run as. */
export interface Users {
  /** True when `of` needs the uid of the namespace, to tell it from others of its name. */
  readonly areOwn: boolean;
  /** @throws Error whose message says why the pod can have no user */
  of(pod: Pod, namespaceUid: string | undefined): PodUser;
  /**
   * Kills what still runs as this user of pods, or as any, when no pod of it does: a process can take off every other
   * sign of where it came from.
   */
  endProcesses(ending: EndedUser): Promise<EndedProcesses>;
  /** Reason why pods of this node, which is root, run as root; undefined when they do not. */
  readonly problem?: string | undefined;
}

/** Dependencies of every part of the node. */
export interface NodeContext {
  readonly client: KubeClient;
  readonly connection: KubeConnection;
  readonly events: EventRecorder;
  readonly images: ImageResolver;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ports: LoopbackPorts;
  readonly sleepWatch: SleepWatch;
  readonly memoryWatch: Pick<MemoryWatch, 'watch'>;
  readonly cpuLimits: CpuLimits;
  /** Resources that all pods together may request. */
  readonly allocatable: Amounts;
  /** True when other nodes are in the cluster, so that it has pods that are not meant for this one. */
  readonly isJoined: boolean;
  /** `node/pods` of the data folder. */
  readonly podsFolder: string;
  /** The Node executable that runs images, and arguments for it. */
  readonly runtime: { readonly command: string; readonly args: readonly string[] };
  /** Variables of the machine that every process gets (PATH, HOME, …). */
  readonly environment: Readonly<Record<string, string>>;
  readonly users: Users;
  readonly spares: Pick<Spares, 'claim'>;
  /** Processes of an earlier node that had not ended when this one started. */
  readonly strays: readonly Stray[];
  readonly tools: Tools;
  /** Reason why processes of pods can have no mounts of their own; undefined when they can. */
  readonly mountProblem: string | undefined;
}
