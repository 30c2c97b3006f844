import { visibleLine, visibleText } from '#lib/command-line';
import { loadConfig, optionalText } from '#lib/config';
import { type LogLine, readableLine } from '#lib/pod-logs';
import { RestClient } from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget } from '../context/target.js';
import { kubeLogs, type LogsFlags, restLogs } from './read-logs.js';
import { findLogOwner } from './log-owner.js';

export interface Terminal {
  readonly write: (text: string) => Promise<void>;
  /** True for a terminal: of the characters that it obeys it gets only colours. */
  readonly isTerminal: boolean;
  readonly hasColours: boolean;
}

/** Cyan, yellow, green, magenta, blue, and the bright ones: no red, which is for errors. */
const COLOURS = [36, 33, 32, 35, 34, 96, 93, 92, 95, 94];

/** Prints lines; where they are of several containers, each begins with its pod (and its container, where pods have several). */
export class LogPrinter {
  /** Pods in their order, with their containers. */
  readonly #pods = new Map<string, Set<string>>();

  constructor(
    private readonly terminal: Terminal,
    private readonly hasTimes: boolean,
    private readonly isRaw: boolean,
  ) {}

  async print(lines: readonly LogLine[]): Promise<void> {
    for (const { pod, container } of lines)
      this.#pods.set(pod, (this.#pods.get(pod) ?? new Set()).add(container));
    if (lines.length > 0) await this.terminal.write(lines.map((line) => this.#render(line)).join(''));
  }

  #render({ time, pod, container, text, cutBytes }: LogLine): string {
    const { isTerminal } = this.terminal;
    // agents write what they like, and a terminal does what it reads; a program that asks for lines as they are gets every byte
    const read = this.isRaw ? text : readableLine(text);
    const shown = isTerminal ? visibleLine(read.replace(/\r$/, '')) : read;
    const cut = cutBytes === undefined ? '' : ` [${cutBytes} bytes cut]`;
    const at = this.hasTimes && time !== '' ? `${time} ` : '';
    return `${this.#prefix(pod, container)}${at}${shown}${cut}\n`;
  }

  #prefix(pod: string, container: string): string {
    const hasSeveral = [...this.#pods.values()].some(({ size }) => size > 1);
    if (this.#pods.size <= 1 && !hasSeveral) return '';
    const name = `[${visibleText(hasSeveral ? `${pod}/${container}` : pod)}]`;
    if (!this.terminal.hasColours) return `${name} `;
    const at = [...this.#pods.keys()].indexOf(pod);
    return `\u001b[${COLOURS[at % COLOURS.length] ?? 0}m${name}\u001b[0m `;
  }
}

const FIELDS = { noColour: optionalText('NO_COLOR', 'no colours when set') };

/** `agentplane logs NAME`: lines of all its pods by time; from the Kubernetes API, or by REST where there is no kubeconfig. */
export async function printLogs(name: string, flags: LogsFlags): Promise<void> {
  if (flags.follow && flags.previous)
    throw new CommandError('usage', '--previous is of containers that have ended: leave out --follow');
  const target = resolveTarget(flags);
  const { stdout } = process;
  const isTerminal = stdout.isTTY;
  const printer = new LogPrinter(
    { write, isTerminal, hasColours: isTerminal && (loadConfig(FIELDS).noColour ?? '') === '' },
    flags.timestamps,
    flags.output !== undefined,
  );
  if (target.kubeconfig === undefined) {
    const rest = new RestClient(target.rest);
    await printAll(restLogs({ rest, flags, clock: systemClock, onNote }, name), printer);
    return;
  }
  await withKube(target, async ({ client, connection }) => {
    const { revision } = flags;
    const namespace = flags.namespace ?? connection.namespace;
    const owner = await findLogOwner(client, name, { namespace, revision });
    const { signal } = new AbortController();
    await printAll(kubeLogs({ client, owner, flags, signal, onNote }), printer);
  });
}

async function printAll(batches: AsyncIterable<readonly LogLine[]>, printer: LogPrinter): Promise<void> {
  for await (const lines of batches) await printer.print(lines);
}

function onNote(message: string): void {
  process.stderr.write(`${visibleText(message)}\n`);
}

/** Waits for a slow reader instead of holding the whole log. */
async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await new Promise((resolve) => process.stdout.once('drain', resolve));
}
