import {
  readHostEnds,
  readNotReady,
  readIdle,
  readRunLoad,
  IDLE_HEADER,
  type IdleAnswer,
  type RunLoad,
} from '#lib/lifecycle';

/** Answer of a pod's agent server to `GET /ok`. */
export interface PodAnswer {
  /** The sentence that names an unavailable dependency; undefined when it waits for none. */
  readonly waitingFor: string | undefined;
  /** Progress of its start, as a sentence. */
  readonly progress?: string | undefined;
  /** Number of times in a row that its graph hosts have ended with nothing to do; absent: zero. */
  readonly hostEnds?: number;
}

/** A program that cannot say this soon why it is not ready has another trouble. */
const TIMEOUT_MS = 1_500;
/** A pod runs other people's code, which may answer without end. */
const MAX_BYTES = 16 * 1024;
/**
 * A server that listens and does not answer is busy: most likely with code of a graph that blocks while it is
 * loaded.
 */
const SILENT = `a pod gives no answer within ${TIMEOUT_MS / 1000} s: its machine is busy, or code of a graph blocks it`;
/** A sentence, for conditions. */
const MAX_CHARS = 500;

/**
 * Answer of the agent server at this address to `GET /ok`; undefined when it gives no answer that can be
 * read.
 */
export async function askPod(address: string | undefined): Promise<PodAnswer | undefined> {
  if (address === undefined) return undefined;
  try {
    const body = await bodyOf(`${address}/ok`);
    const { waitingFor, detail } = readNotReady(body);
    const hostEnds = readHostEnds(body);
    const sentence = detail?.slice(0, MAX_CHARS);
    return waitingFor === undefined
      ? { waitingFor, progress: sentence, ...(hostEnds > 0 ? { hostEnds } : {}) }
      : { waitingFor: sentence ?? `waiting for the ${waitingFor}` };
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError')
      return { waitingFor: undefined, progress: SILENT };
    return undefined; // not listening yet, not reachable from here, or no agent server
  }
}

/** Form of a version, as the kinds' `imageVersion` has it; a pod of a foreign image may answer anything. */
const VERSION = /^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$/;

/** The version that the agent server at this address declares at `GET /info`; undefined when it declares none. */
export async function askVersion(address: string | undefined): Promise<string | undefined> {
  if (address === undefined) return undefined;
  try {
    const body = await bodyOf(`${address}/info`);
    const version: unknown =
      typeof body === 'object' && body !== null ? Reflect.get(body, 'version') : undefined;
    return typeof version === 'string' && VERSION.test(version) ? version : undefined;
  } catch {
    return undefined;
  }
}

/** Load of a deployment, by one of its pods; undefined when it gives no answer that can be read. */
export async function askLoad(address: string | undefined, token: string): Promise<RunLoad | undefined> {
  if (address === undefined) return undefined;
  try {
    return readRunLoad(await bodyOf(`${address}/ok?load=1`, { [IDLE_HEADER]: token }));
  } catch {
    return undefined;
  }
}

/** True when the agent server at this address is idle; undefined when it gives no answer that can be read. */
export async function askIdle(
  address: string | undefined,
  token: string,
  question: 'ask' | 'close',
): Promise<IdleAnswer | undefined> {
  if (address === undefined) return undefined;
  try {
    return readIdle(await bodyOf(`${address}/ok?idle=${question}`, { [IDLE_HEADER]: token }));
  } catch {
    return undefined;
  }
}

async function bodyOf(url: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(url, { headers, signal, redirect: 'manual' });
  return JSON.parse(await firstBytes(response)) as unknown;
}

async function firstBytes({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the answer is longer than ${MAX_BYTES} bytes`);
  }
  return Buffer.concat(chunks).toString('utf8');
}
