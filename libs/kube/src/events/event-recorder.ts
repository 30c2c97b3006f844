import { errorText } from '#lib/errors';
import type { Log } from '#lib/reconcile';
import { systemClock, type Clock } from '#lib/time';
import { isNotFound } from '../client/kube-api-error.js';
import type { KubeClient } from '../client/kube-client.js';
import {
  apiVersionOf,
  EVENTS,
  keyOf,
  keyText,
  type KubeObject,
  type ObjectReference,
  type ResourceRef,
} from '#lib/resources';
import { EventSeries, type EventText, type SeriesStep } from './event-series.js';

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** Reporting component, for example `agentplane-controller`. */
  readonly component: string;
  readonly log: Log;
  readonly clock?: Clock;
}

/** Events that wait to be written; more are dropped, since they are hints and never the truth. */
const MAX_WAITING = 1_000;

/**
 * Writes Kubernetes Events. Equal events within ten minutes become one with a count; an object that has many different
 * ones of a reason gets one combined event; an object that reports without end is cut short. Never throws, never makes
 * its caller wait.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #series: EventSeries;
  #waiting = 0;
  #tail: Promise<void> = Promise.resolve();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#series = new EventSeries(this.#clock);
  }

  /** Reports something about an object. */
  record(ref: ResourceRef, object: KubeObject, text: EventText): void {
    const step = this.#series.next(
      `${ref.kind}/${keyText(keyOf(object))}/${object.metadata.uid ?? ''}`,
      text,
    );
    if (step.kind === 'drop' || this.#waiting >= MAX_WAITING) return;
    this.#waiting++;
    this.#tail = this.#tail
      .then(() => this.#write(ref, object, step))
      .catch((error: unknown) => {
        this.#options.log.debug(
          { reason: text.reason, problem: errorText(error) },
          'an event was not written',
        );
      })
      .finally(() => this.#waiting--);
  }

  /** Resolves when everything recorded so far is written or given up. */
  async flush(): Promise<void> {
    await this.#tail;
  }

  async #write(
    ref: ResourceRef,
    object: KubeObject,
    step: Exclude<SeriesStep, { kind: 'drop' }>,
  ): Promise<void> {
    const { uid = '', name, namespace = 'default', resourceVersion } = object.metadata;
    const regarding: ObjectReference = {
      apiVersion: apiVersionOf(ref),
      kind: ref.kind,
      name,
      uid,
      ...(object.metadata.namespace === undefined ? {} : { namespace }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    const key = { namespace, name: `${name.slice(0, 200)}.${step.id}` };
    const now = this.#clock
      .now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
    if (step.kind === 'repeat') {
      try {
        await this.#options.client.merge(EVENTS, key, {
          count: step.count,
          lastTimestamp: now,
          message: step.text.message,
        });
        return;
      } catch (error) {
        // it lived out its hour: begin a new one
        if (!isNotFound(error)) throw error;
      }
    }
    const { component } = this.#options;
    await this.#options.client.create(EVENTS, {
      metadata: key,
      involvedObject: regarding,
      ...step.text,
      count: step.count,
      firstTimestamp: now,
      lastTimestamp: now,
      source: { component },
      reportingComponent: component,
      reportingInstance: '',
    });
  }
}
