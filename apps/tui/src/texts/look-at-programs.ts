import { statfsSync } from 'node:fs';
import type { KubeClient } from '#lib/kube';
import { ANNOTATION, PODS } from '#lib/resources';
import type { Clock } from '#lib/time';
import { parseExposition, type Scrape } from './exposition.js';
import { type Look, Pulse } from './pulse.js';

const EVERY_MS = 2_000;
const PATIENCE_MS = 1_500;
const METRICS_PORT = '9464';

/** Where the programs of a platform on this machine report. */
export interface PulsePlace {
  /** Addresses of `/metrics` by program. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly dataFolder: string;
}

/** The pulse, every two seconds; each batch is the whole screen. */
export async function* readPulse(
  place: PulsePlace | undefined,
  {
    client,
    clock,
    signal,
  }: { readonly client: KubeClient; readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<readonly string[], void, void> {
  if (!place) {
    yield ['metrics of programs in a cluster are read by its Prometheus: see docs/reference/metrics.md'];
    return;
  }
  const pulse = new Pulse();
  for (;;) {
    yield pulse.take(await look(place, client, clock, signal));
    await clock.sleep(EVERY_MS, signal);
  }
}

async function look(place: PulsePlace, client: KubeClient, clock: Clock, signal: AbortSignal): Promise<Look> {
  const addresses = [...Object.entries(place.addresses), ...(await podAddresses(client, signal))];
  const programs = new Map<string, Scrape>();
  const silent: string[] = [];
  await Promise.all(
    addresses.map(async ([name, url]) => {
      try {
        const answer = await fetch(url, {
          signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
        });
        programs.set(name, parseExposition(await answer.text()));
      } catch {
        signal.throwIfAborted();
        silent.push(name);
      }
    }),
  );
  const { blocks, bfree, bsize } = statfsSync(place.dataFolder);
  const disk = { usedBytes: (blocks - bfree) * bsize, allBytes: blocks * bsize };
  const inOrder = new Map([...programs].sort(([a], [b]) => (a < b ? -1 : 1)));
  return { atMs: clock.monotonicMs(), programs: inOrder, silent: silent.sort(), disk };
}

/** Pods of this machine, by what their metrics port became. */
async function podAddresses(
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly (readonly [string, string])[]> {
  const { items } = await client.list(PODS, { signal });
  return items.flatMap(({ metadata, status }) => {
    const ports = metadata.annotations?.[ANNOTATION.loopbackPorts];
    if (ports === undefined || status?.phase !== 'Running') return [];
    const port = (JSON.parse(ports) as Readonly<Record<string, number>>)[METRICS_PORT];
    return port === undefined ? [] : [[metadata.name, `http://127.0.0.1:${port}/metrics`] as const];
  });
}
