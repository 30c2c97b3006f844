import { errorText } from '#lib/errors';
import { isWakeAsked, type Service, type SleepNote, sleepNoteOf } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { SleepGateOptions } from './sleep-gate.js';

/** The Service of a deployment that may sleep. */
export interface SleepingService {
  /** `namespace/name`, for log lines. */
  readonly name: string;
  /** The Service in its present state; undefined when it does not exist. */
  readonly find: () => Service | undefined;
  /** Writes the annotation by which the listener is asked: `ANNOTATION.wake`. */
  readonly write: (since: string) => Promise<void>;
  readonly log: Logger;
}

/**
 * Reads and writes of a Service for its `SleepGate`. A request ends this very sleep, once for all waiting
 * requests: the listener, which stopped the pods, reads it. A write that fails is repeated while a request
 * waits.
 */
export function sleepOf({
  name,
  find,
  write,
  log,
}: SleepingService): Pick<SleepGateOptions, 'note' | 'wake'> {
  return {
    note: () => {
      const service = find();
      return service && sleepNoteOf(service);
    },
    wake: async (note: SleepNote) => {
      const service = find();
      if (!service || isWakeAsked(service, note)) return;
      try {
        await write(note.since);
      } catch (error) {
        log.warn({ service: name, error: errorText(error) }, 'asking for the wake of a Service failed');
      }
    },
  };
}
