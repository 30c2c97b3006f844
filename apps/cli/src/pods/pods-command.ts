import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join, posix, resolve } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { visibleText } from '#lib/command-line';
import { errorText } from '#lib/errors';
import { type KubeConnection, listenForPod, runInPod, type TerminalSize } from '#lib/kube';
import { EXIT } from '#lib/lifecycle';
import { podFinder } from '#lib/pod-logs';
import { COMPONENT, LABEL, type ObjectKey, type Pod } from '#lib/resources';
import { folderItems, readTar, writeTar } from '#lib/tar';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { findLogOwner } from '../logs/log-owner.js';
import { print } from '../output/print-items.js';

interface PodFlags extends TargetFlags {
  readonly kubeconfig: string | undefined;
  readonly namespace: string | undefined;
  readonly container: string | undefined;
  readonly revision: string | undefined;
}

interface TerminalFlags extends PodFlags {
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** A pod with a way to reach it. */
interface ReachedPod {
  readonly connection: KubeConnection;
  readonly pod: ObjectKey;
  readonly container: string | undefined;
}

/** Finds the pod that a name means, and does something with it. */
async function withPod<T>(
  word: string,
  flags: PodFlags,
  act: (reached: ReachedPod) => Promise<T>,
): Promise<T> {
  const { revision, container } = flags;
  const { kubeconfig } = flags;
  const target = kubeconfig === undefined ? resolveTarget(flags) : { title: kubeconfig, kubeconfig };
  return await withKube(target, async ({ client, connection }) => {
    const namespace = flags.namespace ?? connection.namespace;
    const owner = await findLogOwner(client, word, { namespace, revision });
    const { signal } = new AbortController();
    const pods = await podFinder(client, owner.pods, { signal, onNote: () => undefined })();
    const chosen = pods.filter(isRunning).toSorted(byUse)[0];
    if (chosen === undefined)
      throw new CommandError(
        'notFound',
        `${owner.title} has no running pod: "agentplane describe ${owner.describedBy}" says why`,
      );
    const { name, namespace: of = owner.namespace } = chosen.metadata;
    return await act({ connection, pod: { name, namespace: of }, container });
  });
}

function isRunning({ status, metadata }: Pod): boolean {
  return status?.phase === 'Running' && metadata.deletionTimestamp === undefined;
}

/** Pods that answer HTTP come first, then the newest. */
function byUse(a: Pod, b: Pod): number {
  const isApi = ({ metadata }: Pod): number =>
    metadata.labels?.[LABEL.component] === COMPONENT.agentApi ? 0 : 1;
  const began = ({ metadata }: Pod): string => metadata.creationTimestamp ?? '';
  return isApi(a) - isApi(b) || began(b).localeCompare(began(a));
}

/** `agentplane exec NAME -- COMMAND`. */
export async function execInPod([name = '', ...command]: readonly string[], flags: TerminalFlags) {
  return await runOnTerminal(name, flags, command);
}

/** `agentplane attach NAME`. */
export async function attachToPod([name = '']: readonly string[], flags: TerminalFlags) {
  return await runOnTerminal(name, flags, undefined);
}

async function runOnTerminal(name: string, flags: TerminalFlags, command: readonly string[] | undefined) {
  const { stdin, stdout, stderr } = process;
  if (flags.tty && !(stdin.isTTY && stdout.isTTY))
    throw new CommandError('usage', '--tty needs a terminal as standard input and output: leave it out');
  return await withPod(name, flags, async ({ connection, pod, container }) => {
    if (flags.tty) stdin.setRawMode(true);
    try {
      const code = await runInPod(connection, pod, {
        container,
        stdout,
        ...(command === undefined ? {} : { command }),
        ...(flags.stdin ? { stdin } : {}),
        ...(flags.tty ? { sizes: terminalSizes() } : { stderr }),
      });
      if (code !== undefined || command === undefined) return code ?? EXIT.ok;
      throw new CommandError('unreachable', `the connection to pod ${pod.name} ended before the command`);
    } finally {
      if (flags.tty) stdin.setRawMode(false);
    }
  });
}

async function* terminalSizes(): AsyncGenerator<TerminalSize> {
  for (;;) {
    const { columns: Width, rows: Height } = process.stdout;
    yield { Width, Height };
    await once(process.stdout, 'resize');
  }
}

/** Parsed form of `NAME:PATH`, or of a path of this machine, which may have a colon after a slash. */
function parsePlace(word: string): { readonly name?: string; readonly path: string } {
  const [, name, path] = /^([^:/]+(?:\/[^:/]+)?):(.*)$/s.exec(word) ?? [];
  return name === undefined || path === undefined ? { path: word } : { name, path };
}

/** `agentplane cp FROM TO`. */
export async function copyFiles([from = '', to = '']: readonly string[], flags: PodFlags): Promise<void> {
  const [source, target] = [parsePlace(from), parsePlace(to)];
  if ((source.name === undefined) === (target.name === undefined))
    throw new CommandError('usage', 'one side must be in a pod, as NAME:PATH, and the other on this machine');
  if (source.path === '' || target.path === '') throw new CommandError('usage', 'a path must not be empty');
  const files = await withPod(source.name ?? target.name ?? '', flags, (reached) =>
    source.name === undefined
      ? copyToPod(reached, source.path, target.path)
      : copyFromPod(reached, source.path, target.path),
  );
  await print(`${files} ${files === 1 ? 'file' : 'files'} copied\n`);
}

async function copyToPod(reached: ReachedPod, path: string, folder: string): Promise<number> {
  const whole = resolve(path);
  await stat(whole);
  let files = 0;
  const counted = async function* () {
    for await (const item of folderItems(dirname(whole), basename(whole))) {
      if (item.entry.kind === 'file') files++;
      yield item;
    }
  };
  const tar = Readable.from(wholeRecords(writeTar(counted(), { entries: 0, contentBytes: 0 })));
  await runTar(reached, ['xmf', '-', '-C', folder], { stdin: tar, stdout: new PassThrough().resume() });
  return files;
}

const RECORD_BYTES = 10_240;

/** Fills the last record of an archive, so that tar reads its end also where a server cannot end the input. */
async function* wholeRecords(tar: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const piece of tar) {
    bytes += piece.length;
    yield piece;
  }
  yield Buffer.alloc((RECORD_BYTES - (bytes % RECORD_BYTES)) % RECORD_BYTES);
}

/** Makes files and folders only, so that a pod, which is not trusted, cannot lead out of the folder. */
async function copyFromPod(reached: ReachedPod, path: string, to: string): Promise<number> {
  const { dir, base } = posix.parse(posix.normalize(path).replace(/(?<=.)\/$/, ''));
  const isFolder = (await stat(to).catch(() => undefined))?.isDirectory() === true;
  const folder = isFolder ? to : dirname(resolve(to));
  const name = isFolder ? base : basename(resolve(to));
  const output = new PassThrough();
  let files = 0;
  const unpack = async (): Promise<void> => {
    for await (const { entry, body } of readTar(output)) {
      const parts = entry.path.split('/').filter((part) => part !== '' && part !== '.');
      if (parts[0] !== base || parts.includes('..'))
        throw new CommandError('failed', `the pod sent ${entry.path}, which is not in ${path}`);
      const target = join(folder, name, ...parts.slice(1));
      if (entry.kind === 'folder') await mkdir(target, { recursive: true });
      else if (entry.kind === 'link')
        process.stderr.write(`${visibleText(entry.path)} is a symbolic link and was left out\n`);
      else {
        await mkdir(dirname(target), { recursive: true });
        await pipeline(body, createWriteStream(target, { mode: entry.mode & 0o777 }));
        files++;
      }
    }
  };
  const command = ['cf', '-', '-C', dir === '' ? '.' : dir, '--', base];
  const run = runTar(reached, command, { stdout: output }).finally(() => output.end());
  // the words of tar explain an archive that ends early
  const [ran, unpacked] = await Promise.allSettled([run, unpack()]);
  for (const one of [ran, unpacked]) if (one.status === 'rejected') throw one.reason;
  return files;
}

async function runTar(
  { connection, pod, container }: ReachedPod,
  words: readonly string[],
  streams: { readonly stdin?: Readable; readonly stdout: PassThrough },
): Promise<void> {
  let complaint = '';
  const stderr = new PassThrough().setEncoding('utf8').on('data', (text: string) => (complaint += text));
  const program = { container, command: ['tar', ...words], stderr, ...streams };
  const ended = await runInPod(connection, pod, program).catch((error: unknown) => errorText(error));
  if (ended !== 0)
    throw new CommandError(
      'failed',
      `tar in pod ${pod.name} failed: ${complaint.trim() || (typeof ended === 'string' ? ended : `exit ${ended ?? 'unknown'}`)}`,
    );
}

/** `agentplane port-forward NAME PORT`. */
export async function forwardPorts(
  [name = '', ports = '']: readonly string[],
  flags: PodFlags & { readonly address: string },
): Promise<number | undefined> {
  const [, local, port] = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(ports) ?? [];
  const isPort = (text: string | undefined): boolean => Number(text) <= 65_535;
  if (port === undefined || Number(port) === 0 || !isPort(port) || !isPort(local ?? port))
    throw new CommandError('usage', `${ports} names no port: use PORT or LOCAL:PORT`);
  return await withPod(name, flags, async ({ connection, pod }) => {
    const place = { port: Number(local ?? port), host: flags.address };
    const server = await listenForPod(connection, pod, Number(port), place, (error) =>
      process.stderr.write(`port ${port} of ${pod.name}: ${visibleText(errorText(error))}\n`),
    );
    const at = server.address() as AddressInfo;
    await print(`Forwarding from ${at.address}:${at.port} to port ${port} of ${pod.name}\n`);
    await once(server, 'close');
    return EXIT.ok;
  });
}
