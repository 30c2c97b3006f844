import type { Readable } from 'node:stream';
import { visibleLine } from '#lib/command-line';
import type { KubeClient } from '#lib/kube';
import { EXIT } from '#lib/lifecycle';
import type { Pod } from '#lib/resources';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { findLogSource } from './log-source.js';

export interface LogsFlags extends TargetFlags {
  readonly namespace: string | undefined;
  readonly container: string | undefined;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly tail: number | undefined;
  readonly since: number | undefined;
  readonly timestamps: boolean;
}

/** `agentplane logs NAME`: every pod of it; with several, each line begins with its pod. */
export async function printLogs(name: string, flags: LogsFlags): Promise<number> {
  return await withKube(resolveTarget(flags), async ({ client, connection }) => {
    const pods = await findLogSource(client, name, flags.namespace ?? connection.namespace);
    const isPrefixed = pods.length > 1;
    const print = async (pod: Pod): Promise<void> => {
      const prefix = isPrefixed ? `[${pod.metadata.name}] ` : '';
      await copyLines(await openLog(client, pod, flags), prefix);
    };
    // one after the other, unless they are followed: then nothing would come of the second
    if (flags.follow) await Promise.all(pods.map((pod) => print(pod)));
    else for (const pod of pods) await print(pod);
    return EXIT.ok;
  });
}

async function openLog(client: KubeClient, { metadata, spec }: Pod, flags: LogsFlags): Promise<Readable> {
  const { follow, previous, tail, since, timestamps } = flags;
  const container = flags.container ?? spec.containers[0]?.name;
  return await client.podLogs(
    { name: metadata.name, namespace: metadata.namespace ?? '' },
    {
      ...{ follow, previous, timestamps },
      ...(container === undefined ? {} : { container }),
      ...(tail === undefined ? {} : { tailLines: tail }),
      ...(since === undefined ? {} : { sinceSeconds: Math.max(1, Math.round(since / 1000)) }),
    },
  );
}

/** Whole lines, so that those of several pods do not mix. */
async function copyLines(stream: Readable, prefix: string): Promise<void> {
  let rest = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) await write(lines.map((line) => `${prefix}${shown(line)}\n`).join(''));
  }
  if (rest !== '') await write(`${prefix}${shown(rest)}\n`);
}

/** Agents write what they like, and a terminal does what it reads; a program that reads gets every byte. */
function shown(line: string): string {
  return process.stdout.isTTY ? visibleLine(line.replace(/\r$/, '')) : line;
}

/** Waits for a slow reader instead of holding the whole log. */
async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await new Promise((resolve) => process.stdout.once('drain', resolve));
}
