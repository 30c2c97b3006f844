import type { KubeClient } from '#lib/kube';
import type { KubeObject, ObjectKey, ResourceRef } from '#lib/resources';
import { type Clock, systemClock } from '#lib/time';

const LOOK_MS = 1_000;

export interface FollowOptions {
  readonly timeoutMs: number;
  readonly clock?: Clock;
}

/**
 * An object again and again, whenever it changed and once a second, until the time is over; undefined while it does not
 * exist. The watch only wakes: each value is read anew, so a broken watch delays and loses nothing.
 */
export async function* followObject<T extends KubeObject>(
  client: KubeClient,
  ref: ResourceRef<T>,
  key: ObjectKey,
  { timeoutMs, clock = systemClock }: FollowOptions,
): AsyncGenerator<T | undefined, void, void> {
  const abort = new AbortController();
  const deadline = clock.monotonicMs() + timeoutMs;
  let wake: () => void = () => undefined;
  void wakeOnChange(client, ref, key, { signal: abort.signal, onChange: () => wake() });
  try {
    for (;;) {
      const changed = new Promise<void>((resolve) => (wake = resolve));
      yield await client.find(ref, key);
      const leftMs = deadline - clock.monotonicMs();
      if (leftMs <= 0) return;
      await Promise.race([changed, clock.sleep(Math.min(LOOK_MS, leftMs))]);
    }
  } finally {
    abort.abort();
  }
}

async function wakeOnChange<T extends KubeObject>(
  client: KubeClient,
  ref: ResourceRef<T>,
  { name, namespace }: ObjectKey,
  { signal, onChange }: { readonly signal: AbortSignal; readonly onChange: () => void },
): Promise<void> {
  const selection = {
    fieldSelector: `metadata.name=${name}`,
    ...(namespace === undefined ? {} : { namespace }),
  };
  try {
    const { resourceVersion } = await client.list(ref, selection);
    for await (const event of client.watch(ref, { ...selection, resourceVersion, signal }))
      if (event.type !== 'BOOKMARK') onChange();
  } catch {
    // looking once a second is enough without it
  }
}

/** Time for which only what happens is shown, without the detail behind a semicolon. */
const QUIET_MS = 20_000;

/** Lines for a person who waits: each once, however its seconds count, and details once something takes long. */
export function progressLines(show: (line: string) => void, nowMs: () => number): (message: string) => void {
  const begunMs = nowMs();
  let last = '';
  return (message) => {
    const line = nowMs() - begunMs < QUIET_MS ? (message.split(';')[0] ?? message) : message;
    const same = line.replaceAll(/\bfor \d+ s\b/g, '');
    if (same !== last) show(line);
    last = same;
  };
}
