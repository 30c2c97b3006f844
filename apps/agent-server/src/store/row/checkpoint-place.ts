import type { RunnableConfig } from '@langchain/core/runnables';

/** Position of a checkpoint, as the library writes it in `configurable`. */
export interface CheckpointPlace {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string | undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function checkpointPlace({ configurable = {} }: RunnableConfig): CheckpointPlace {
  return {
    threadId: textOf(configurable['thread_id']) ?? '',
    namespace: textOf(configurable['checkpoint_ns']) ?? '',
    checkpointId: textOf(configurable['checkpoint_id']),
  };
}
