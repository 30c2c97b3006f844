import { ANNOTATION, type Pod } from '#lib/resources';
import { parseExposition, type Scrape } from './exposition.js';

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
