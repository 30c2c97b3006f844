import type { JsonObject } from '#lib/json';

/** Values that are serialised, one after the other in the body of the message, in this order. */
interface Part {
  readonly channel: string;
  readonly type: string;
  readonly bytes: number;
}

interface CheckpointPlace {
  /** Number of the run that asks; undefined for a question about a thread. */
  readonly run?: number;
  readonly threadId: string;
  readonly namespace: string;
}

/** Body: checkpoint and metadata as JSON, then the values. */
interface PutCheckpoint extends CheckpointPlace {
  readonly what: 'put-checkpoint';
  readonly checkpointId: string;
  readonly parentId?: string;
  readonly checkpointBytes: number;
  readonly metadataBytes: number;
  readonly blobs: readonly (Part & { readonly version: string })[];
}

interface PutWrites extends CheckpointPlace {
  readonly what: 'put-writes';
  readonly checkpointId: string;
  readonly taskId: string;
  readonly taskPath: string;
  /** An existing write of the same place is replaced, not kept. */
  readonly replaces: boolean;
  readonly writes: readonly (Part & { readonly idx: number })[];
}

interface GetCheckpoint extends CheckpointPlace {
  readonly what: 'get-checkpoint';
  /** Undefined: the newest. */
  readonly checkpointId?: string;
}

/** Request for checkpoints, newest first. */
interface ListCheckpoints extends CheckpointPlace {
  readonly what: 'list-checkpoints';
  readonly limit: number;
  readonly beforeId?: string;
  /** Metadata that they must contain. */
  readonly filter: JsonObject;
}

/** Finds the parts of channels that are stored as changes, at a checkpoint. */
interface DeltaHistory extends CheckpointPlace {
  readonly what: 'delta-history';
  /** Undefined: the newest. */
  readonly checkpointId?: string;
  readonly channels: readonly string[];
}

/** Body: a list of operations on items of the store, as JSON. */
interface Items {
  readonly what: 'items';
}

/** Request of a host that has no database of its own. */
export type Fetch = PutCheckpoint | PutWrites | GetCheckpoint | ListCheckpoints | DeltaHistory | Items;

/** One checkpoint: in the body its JSON, that of its metadata, its values, and the writes of its tasks. */
export interface FetchedCheckpoint {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly parentId: string | null;
  readonly checkpointBytes: number;
  readonly metadataBytes: number;
  readonly blobs: readonly Part[];
  readonly writes: readonly (Part & { readonly taskId: string })[];
}

/** The answer to a request: `tuples` of checkpoints, or `parts` of a delta history, oldest first. */
export interface Fetched {
  readonly tuples?: readonly FetchedCheckpoint[];
  /** Without a task: the last stored value of the channel. */
  readonly parts?: readonly (Part & { readonly taskId: string | null })[];
}
