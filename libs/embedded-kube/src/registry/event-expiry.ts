import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { isJsonObject } from '#lib/json';
import type { ObjectStore } from '../store/object-store.js';

const LIFETIME_MS = 60 * 60_000;
const SWEEP_MS = 60_000;

/** Removes Events an hour after they were last written: they are news, not history. */
export class EventExpiry {
  #cancel: (() => void) | undefined;

  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    this.#plan();
  }

  stop(): void {
    this.#cancel?.();
  }

  #plan(): void {
    this.#cancel = this.clock.after(SWEEP_MS, () => {
      this.#plan();
      void this.sweep().catch((error: unknown) => {
        this.log.warn({ error: errorText(error) }, 'removing expired events failed, retrying later');
      });
    });
  }

  /** Removes what is old now. */
  async sweep(): Promise<void> {
    const before = this.clock.now().getTime() - LIFETIME_MS;
    const old = this.store.list('events').filter(({ object }) => lastWritten(object) < before);
    for (const { object } of old) {
      const { namespace = '', name = '' } = object.metadata;
      await this.store.change({ resource: 'events', namespace, name }, (current) =>
        current && lastWritten(current.object) < before
          ? { kind: 'delete', object: current.object }
          : { kind: 'keep' },
      );
    }
  }
}

function lastWritten({
  metadata,
}: {
  readonly metadata: {
    readonly creationTimestamp?: string | null;
    readonly managedFields?: readonly unknown[];
  };
}): number {
  const times = (metadata.managedFields ?? []).map((entry) =>
    isJsonObject(entry) ? String(entry.time) : '',
  );
  return Math.max(...[metadata.creationTimestamp ?? '', ...times].map((time) => Date.parse(time) || 0));
}
