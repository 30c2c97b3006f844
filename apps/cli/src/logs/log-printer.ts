import { visibleLine, visibleText } from '#lib/command-line';
import { type LogLine, readableLine } from '#lib/pod-logs';

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
