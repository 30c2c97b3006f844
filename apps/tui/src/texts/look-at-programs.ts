import { statfsSync } from 'node:fs';
import { errorText } from '#lib/errors';
import type { KubeClient } from '#lib/kube';
import { ANNOTATION, NODES, nodeWarnings, type Pod, PODS } from '#lib/resources';
import { readWarnings, type RestRequests } from '#lib/rest-client';
import type { Clock } from '#lib/time';
import { parseExposition, type Scrape } from './exposition.js';
import { type Look, Pulse, warningLines } from './pulse.js';

/** The port's number in the pod. */
const METRICS_PORT = '9464';
/** Maximum size of one answer, some hundred times that of a program of the platform. */
const MAX_BYTES = 4_194_304;

/**
 * Metrics address of a pod of this machine, by the note of its node. An editor of the pod can write another
 * note, so only its port number is used.
 */
export function metricsAddressOf({ metadata, status }: Pod): string | undefined {
  const noted = metadata.annotations?.[ANNOTATION.loopbackPorts];
  if (noted === undefined || status?.phase !== 'Running') return undefined;
  const port = portIn(noted);
  return port === undefined ? undefined : `http://127.0.0.1:${port}/metrics`;
}

function portIn(noted: string): number | undefined {
  try {
    const ports: unknown = JSON.parse(noted);
    const port: unknown =
      typeof ports === 'object' && ports !== null ? Reflect.get(ports, METRICS_PORT) : undefined;
    return typeof port === 'number' && Number.isInteger(port) ? port : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads the metrics of a program once. A pod runs other people's code, which may answer without end.
 * @throws Error for a program that gives no answer, or one of more than 4 MiB
 */
export async function scrapeProgram(url: string, signal: AbortSignal): Promise<Scrape> {
  const { body } = await fetch(url, { signal, redirect: 'manual' });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the answer of ${url} is longer than ${MAX_BYTES} bytes`);
  }
  return parseExposition(Buffer.concat(chunks).toString());
}

const EVERY_MS = 2_000;
const PATIENCE_MS = 1_500;

/** Addresses at which the programs of a platform on this machine report. */
export interface PulsePlace {
  /** Addresses of `/metrics` by program. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly dataFolder: string;
}

/** Dependencies of a look. */
interface Looking {
  readonly client: KubeClient;
  readonly rest: RestRequests | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The pulse, every two seconds; each batch is the whole screen. */
export async function* readPulse(
  place: PulsePlace | undefined,
  looking: Looking,
): AsyncGenerator<readonly string[], void, void> {
  const warnings = await restWarnings(looking);
  if (!place) {
    yield [
      'metrics of programs in a cluster are read by its Prometheus: see docs/reference/metrics.md',
      ...warningLines(warnings),
    ];
    return;
  }
  const pulse = new Pulse();
  for (;;) {
    yield pulse.take(await look(place, looking, warnings));
    await looking.clock.sleep(EVERY_MS, looking.signal);
  }
}

/** They last until an administrator acts, so they are asked for when the screen is opened. */
async function restWarnings({ rest, signal }: Looking): Promise<readonly string[]> {
  try {
    return rest ? await readWarnings(rest) : [];
  } catch (error) {
    signal.throwIfAborted();
    return [`reading the warnings of the api failed: ${errorText(error)}`];
  }
}

async function look(
  place: PulsePlace,
  { client, clock, signal }: Looking,
  restLines: readonly string[],
): Promise<Look> {
  const addresses = [...Object.entries(place.addresses), ...(await podAddresses(client, signal))];
  const programs = new Map<string, Scrape>();
  const silent: string[] = [];
  await Promise.all(
    addresses.map(async ([name, url]) => {
      try {
        const patience = AbortSignal.timeout(PATIENCE_MS);
        programs.set(name, await scrapeProgram(url, AbortSignal.any([signal, patience])));
      } catch {
        signal.throwIfAborted();
        silent.push(name);
      }
    }),
  );
  const { items: nodes } = await client.list(NODES, { signal });
  const nodeLines = nodes.flatMap((node) =>
    nodeWarnings(node).map((warning) => `node/${node.metadata.name}: ${warning}`),
  );
  const warnings = [...restLines, ...nodeLines];
  const { blocks, bfree, bsize } = statfsSync(place.dataFolder);
  const disk = { usedBytes: (blocks - bfree) * bsize, allBytes: blocks * bsize };
  const inOrder = new Map([...programs].sort(([a], [b]) => (a < b ? -1 : 1)));
  return { atMs: clock.monotonicMs(), programs: inOrder, silent: silent.sort(), warnings, disk };
}

/** Pods of this machine, by what their metrics port became. */
async function podAddresses(
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly (readonly [string, string])[]> {
  const { items } = await client.list(PODS, { signal });
  return items.flatMap((pod) => {
    const address = metricsAddressOf(pod);
    return address === undefined ? [] : [[pod.metadata.name, address] as const];
  });
}
