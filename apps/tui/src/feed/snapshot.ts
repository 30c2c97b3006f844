import type { Condition } from '#lib/resources';

/** The parts of a custom resource that the dashboard shows; everything may be missing while it is young. */
export interface Shown<Spec, Status> {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
  };
  readonly spec: Spec;
  readonly status?: Status & { readonly conditions?: readonly Condition[] };
}

export type ShownDeployment = Shown<
  { readonly name?: string; readonly suspend?: boolean },
  { readonly latestRevisionName?: string; readonly activeRevisionName?: string; readonly url?: string }
>;

export type ShownRevision = Shown<
  { readonly deploymentName: string; readonly imageUri?: string },
  { readonly serving?: boolean; readonly image?: string }
>;

export type ShownExport = Shown<
  { readonly tracingProject?: { readonly name?: string; readonly id?: string }; readonly cancel?: boolean },
  {
    readonly rows?: number;
    readonly bytes?: number;
    readonly percent?: number;
    readonly runs?: { readonly total?: number; readonly completed?: number; readonly running?: number };
  }
>;

export type ShownExportRun = Shown<
  { readonly exportName: string; readonly startTime: string },
  { readonly rows?: number; readonly bytes?: number; readonly percent?: number; readonly attempt?: number }
>;

/** Everything on the screen at one moment. */
export interface Snapshot {
  readonly deployments: readonly ShownDeployment[];
  readonly revisions: readonly ShownRevision[];
  readonly exports: readonly ShownExport[];
  readonly exportRuns: readonly ShownExportRun[];
  /** Set while the API server cannot be reached, or nothing can be stored. */
  readonly trouble?: string;
}

export const EMPTY: Snapshot = { deployments: [], revisions: [], exports: [], exportRuns: [] };

/** Where snapshots come from: a watch in the program, a list of values in tests. */
export interface SnapshotFeed {
  readonly current: Snapshot;
  /** Calls back after each change; the result ends it. */
  subscribe(changed: () => void): () => void;
}
