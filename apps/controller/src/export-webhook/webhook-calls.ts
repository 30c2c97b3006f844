import type { Source } from '#lib/kube';
import { type ObjectKey, keyText } from '#lib/resources';
import type { CallOutcome } from './decide-webhook.js';

/**
 * Maximum number of concurrent calls; each workspace has a lower limit, so that hanging receivers do not
 * block the others.
 */
const PLACES = 32;
const PLACES_OF_WORKSPACE = 2;

type State =
  | { readonly kind: 'waiting' }
  /** A place was given: the next pass over it makes the call, or gives the place back. */
  | { readonly kind: 'admitted' }
  | { readonly kind: 'calling' }
  | { readonly kind: 'ended'; readonly outcome: CallOutcome };

interface Entry {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly state: State;
}

/**
 * The calls that this program makes, and the queue of those that wait for one. A pass does not wait for a
 * call: its end enqueues the key, and the next pass over it reports the outcome.
 */
export class WebhookCalls implements Source {
  /** Entries by key; waiting ones are served in the order of their arrival. */
  readonly #entries = new Map<string, Entry>();
  #enqueue: (key: ObjectKey) => void = () => {};

  feed(enqueue: (key: ObjectKey) => void): () => void {
    this.#enqueue = enqueue;
    return () => {
      this.#enqueue = () => {};
    };
  }

  /** Tells if a call for the export is being made, and the outcome of one that has ended. */
  find(
    key: ObjectKey,
    uid: string,
  ): { readonly isUnderWay: boolean; readonly outcome: CallOutcome | undefined } {
    const entry = this.#entries.get(keyText(key));
    const state = entry?.uid === uid ? entry.state : undefined;
    return {
      isUnderWay: state?.kind === 'calling',
      outcome: state?.kind === 'ended' ? state.outcome : undefined,
    };
  }

  /** Asks for a place. @returns true when there is one; else its key is enqueued once a place is free */
  admit(key: ObjectKey, uid: string): boolean {
    const text = keyText(key);
    const entry = this.#entries.get(text);
    if (entry?.uid !== uid || entry.state.kind === 'ended') {
      this.#entries.delete(text);
      this.#entries.set(text, { key, uid, state: { kind: 'waiting' } });
      this.#serve(text);
    }
    return this.#entries.get(text)?.state.kind === 'admitted';
  }

  /** Makes the call of an export that was admitted. @param call never rejects */
  begin(key: ObjectKey, call: () => Promise<CallOutcome>): void {
    const text = keyText(key);
    const entry = this.#entries.get(text);
    if (entry?.state.kind !== 'admitted') throw new Error(`webhook of ${text} was not admitted`);
    const calling: Entry = { ...entry, state: { kind: 'calling' } };
    this.#entries.set(text, calling);
    void call().then((outcome) => {
      // deleted and made again meanwhile: the outcome concerns nothing any more
      if (this.#entries.get(text) === calling)
        this.#entries.set(text, { ...calling, state: { kind: 'ended', outcome } });
      this.#serve();
      this.#enqueue(key);
    });
  }

  /** Leaves the queue, gives a place back, or forgets an outcome; a call in flight continues. */
  leave(key: ObjectKey): void {
    const text = keyText(key);
    const entry = this.#entries.get(text);
    if (!entry || entry.state.kind === 'calling') return;
    this.#entries.delete(text);
    if (entry.state.kind === 'admitted') this.#serve();
  }

  /** Gives free places to those that wait. @param asking its caller looks itself, and is not enqueued */
  #serve(asking?: string): void {
    const taken = [...this.#entries.values()].filter(({ state }) => hasPlace(state));
    const byWorkspace = new Map<string, number>();
    const countOf = ({ key }: Entry): number => byWorkspace.get(key.namespace ?? '') ?? 0;
    const count = (entry: Entry): unknown => byWorkspace.set(entry.key.namespace ?? '', countOf(entry) + 1);
    taken.forEach(count);
    let free = PLACES - taken.length;
    for (const [text, entry] of this.#entries) {
      if (free <= 0) return;
      if (entry.state.kind !== 'waiting' || countOf(entry) >= PLACES_OF_WORKSPACE) continue;
      this.#entries.set(text, { ...entry, state: { kind: 'admitted' } });
      count(entry);
      free--;
      if (text !== asking) this.#enqueue(entry.key);
    }
  }
}

function hasPlace({ kind }: State): boolean {
  return kind === 'admitted' || kind === 'calling';
}
