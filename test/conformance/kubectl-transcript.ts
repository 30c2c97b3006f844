import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** One cluster that a transcript is taken from. */
export interface TranscriptCluster {
  readonly kubeconfig: string;
  /** Namespace that `kubectl` uses; it is NAMESPACE in the transcript. */
  readonly namespace: string;
  /** Folder with the built kubectl. */
  readonly bin: string;
  /** Scratch folder: discovery cache and what the commands write. */
  readonly home: string;
}

const COMMAND_TIMEOUT_SECONDS = 60;

/** Runs the lines of `commands.txt` one after another and gives what they print, normalised. */
export async function takeTranscript(folder: string, cluster: TranscriptCluster): Promise<string> {
  const lines = readFileSync(join(folder, 'commands.txt'), 'utf8').split('\n');
  const kubeconfig = join(cluster.home, 'kubeconfig');
  writeFileSync(kubeconfig, readFileSync(cluster.kubeconfig), { mode: 0o600 });
  const environment = {
    PATH: `${cluster.bin}:${process.env.PATH ?? ''}`,
    HOME: cluster.home,
    KUBECONFIG: kubeconfig,
    TMP: cluster.home,
    NAMESPACE: cluster.namespace,
    LANG: 'C.UTF-8',
    // each command ends before its collector is worth anything, and a third of its time went there
    GOGC: 'off',
  };
  await run(`kubectl config set-context --current --namespace ${cluster.namespace}`, folder, environment);
  const parts: string[] = [];
  for (const line of lines) {
    if (line === '' || line.startsWith('#')) {
      parts.push(line);
      continue;
    }
    const { code, output } = await run(line, folder, environment);
    parts.push(`$ ${line}`, normalised(output, cluster), ...(code === 0 ? [] : [`(exit ${code})`]));
  }
  return `${parts
    .filter((part, index) => part !== '' || parts[index - 1] !== '')
    .join('\n')
    .trimEnd()}\n`;
}

interface Outcome {
  readonly code: number;
  readonly output: string;
}

function run(line: string, cwd: string, env: Readonly<Record<string, string>>): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const child = spawn('timeout', [String(COMMAND_TIMEOUT_SECONDS), '/bin/sh', '-c', `(${line}) 2>&1`], {
    cwd,
    env,
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.on('error', reject);
  child.on('close', (code) => resolve({ code: code ?? 255, output: Buffer.concat(chunks).toString('utf8') }));
  return promise;
}

const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [/^Warning: \w+ has no effect on one machine: .*\n/gm, ''],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UID'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\b/g, 'TIME'],
  [/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+\w-]+\b/g, 'TIME'],
  [/(resourceVersion"?: *)"\d+"/g, '$1"REVISION"'],
  [/(Resource Version: +)\d+/g, '$1REVISION'],
  [/(too old resource version: )\d+ \(\d+\)/g, '$1OLD (OLDEST)'],
  [/\/tmp\/[\w./-]*kubectl-edit-[\w.-]+/g, 'EDITED-FILE'],
  [/(\bmade-)[a-z0-9]{5}\b/g, '$1XXXXX'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'TOKEN'],
];

/** What differs between two runs of the same commands, and says nothing about the server, made the same. */
/** Causes of one refusal, each a line that begins with `* `: Go takes them from a map, so their order is nobody's. */
export function withSortedCauses(transcript: string): string {
  return transcript.replace(/(?:^\* .*(?:\n|$))+/gm, (causes) => {
    const end = causes.endsWith('\n') ? '\n' : '';
    return causes.trimEnd().split('\n').sort().join('\n') + end;
  });
}

function normalised(output: string, cluster: TranscriptCluster): string {
  let text = output.replaceAll(cluster.namespace, 'NAMESPACE').replaceAll(cluster.home, 'HOME');
  for (const [pattern, replacement] of REPLACEMENTS) text = text.replace(pattern, replacement);
  return text.split('\n').map(normalisedLine).join('\n').trimEnd();
}

const AGE = /(?<=^|\s)(?:\d+[smhd]){1,2}(?: ago)?(?=\s|$)/g;

/** Ages as one word, and in lines of tables (which are not indented) three spaces between columns. */
function normalisedLine(line: string): string {
  const aged = line.replaceAll(AGE, 'AGE').trimEnd();
  return aged.startsWith(' ') ? aged : aged.replaceAll(/ {2,}/g, '   ');
}
