import { errorText, unless } from '#lib/errors';
import type { Failure, Log, PassReports } from '#lib/reconcile';
import {
  type Condition,
  CONDITION,
  FIELD_MANAGER,
  findCondition,
  keyOf,
  keyText,
  type KubeObject,
  type ObjectKey,
  type ResourceRef,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { isNotFound, KubeApiError, KubeUnreachableError } from '../client/kube-api-error.js';
import type { KubeClient } from '../client/kube-client.js';
import type { EventRecorder } from '../events/event-recorder.js';
import type { Reader } from '../informer/store.js';

type WithConditions = KubeObject & {
  readonly status?: { readonly conditions?: readonly Condition[] };
};

/** The objects on which passes of a key are reported. */
export interface PassSubject {
  readonly ref: ResourceRef;
  find(key: ObjectKey): readonly KubeObject[];
}

/** The object that a key names. */
export function passSubject<T extends KubeObject>(
  ref: ResourceRef<T>,
  objects: Pick<Reader<T>, 'find'>,
): PassSubject {
  return {
    ref,
    find: (key) => {
      const object = objects.find(key);
      return object ? [object] : [];
    },
  };
}

/** The means by which failures are reported. */
export interface FailureReporting {
  readonly client: Pick<KubeClient, 'applyStatus'>;
  readonly events: Pick<EventRecorder, 'record'>;
}

const MAX_LETTERS = 1_000;

/**
 * One sentence about an error without a class of its own. The API server names objects and fields of the platform alone;
 * the text of any other error may name hosts and users, and stays in the log.
 */
function sentenceOf(error: unknown): string {
  if (error instanceof KubeUnreachableError) return 'the API server does not answer; retrying';
  if (!(error instanceof KubeApiError))
    return 'retrying after an error; see the log of the program that reports this';
  const text = errorText(error)
    .replace(/[\s\p{C}\u2028\u2029]+/gu, ' ')
    .trim();
  return `retrying after an error: ${text.length > MAX_LETTERS ? `${text.slice(0, MAX_LETTERS)}…` : text}`;
}

/**
 * Reports failed passes as Warning events, and repeated ones as the condition `ReconcileFailing`, which is
 * removed when a pass ends well. The condition has a field manager of its own: the reconciler does not write
 * it.
 */
export class FailureReports implements PassReports {
  /** Conditions that this program wrote, which caches may not show yet: message by key of the object. */
  readonly #written = new Map<string, string>();
  /** A condition from before is left by an earlier run of a program. */
  readonly #startedAt: number;

  constructor(
    private readonly subject: PassSubject,
    private readonly reporting: FailureReporting,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {
    this.#startedAt = clock.now().getTime();
  }

  async failed(key: ObjectKey, failure: Failure, isRepeated: boolean): Promise<void> {
    if (failure.kind === 'waiting' || failure.kind === 'conflict') return;
    const { ref } = this.subject;
    const message = failure.kind === 'terminal' ? failure.message : sentenceOf(failure.error);
    for (const object of this.subject.find(key)) {
      this.reporting.events.record(ref, object, { type: 'Warning', reason: failure.reason, message });
      if (!isRepeated || this.#written.get(textOf(object)) === message) continue;
      const before = failingOf(object);
      const lastTransitionTime = before?.lastTransitionTime ?? this.clock.now().toISOString();
      const condition = { type: CONDITION.reconcileFailing, status: 'True', reason: failure.reason } as const;
      await this.#apply(object, [{ ...condition, message, lastTransitionTime }]);
      this.#written.set(textOf(object), message);
    }
  }

  async ended(key: ObjectKey): Promise<void> {
    for (const object of this.subject.find(key)) {
      if (!this.#written.has(textOf(object)) && !this.#isLeftOver(object)) continue;
      await this.#apply(object, []);
      this.#written.delete(textOf(object));
      this.log.info({ key: textOf(object) }, 'passes end well again');
    }
  }

  #isLeftOver(object: KubeObject): boolean {
    const found = failingOf(object);
    return found !== undefined && Date.parse(found.lastTransitionTime) < this.#startedAt;
  }

  async #apply({ metadata }: KubeObject, conditions: readonly Condition[]): Promise<void> {
    const { name, namespace, uid } = metadata;
    const applied = {
      metadata: { name, ...(namespace && { namespace }), ...(uid && { uid }) },
      status: { conditions },
    };
    await this.reporting.client
      .applyStatus<WithConditions>(this.subject.ref, applied, { fieldManager: FIELD_MANAGER.failures })
      .catch(unless(isNotFound));
  }
}

function failingOf(object: WithConditions): Condition | undefined {
  return findCondition(object.status?.conditions, CONDITION.reconcileFailing);
}

function textOf(object: KubeObject): string {
  return keyText(keyOf(object));
}
