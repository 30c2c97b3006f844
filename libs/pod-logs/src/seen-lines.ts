import type { LogLine } from './log-line.js';

/**
 * Position in the log of one container, so that reading it again from that time repeats nothing. Several
 * lines may have one time: those of the last one are remembered.
 */
export class SeenLines {
  #time = '';
  readonly #texts = new Map<string, number>();

  /** Time of the last line; undefined before the first. */
  get time(): string | undefined {
    return this.#time === '' ? undefined : this.#time;
  }

  add({ time, text }: LogLine): void {
    if (time < this.#time) return;
    if (time > this.#time) this.#texts.clear();
    this.#time = time;
    this.#texts.set(text, (this.#texts.get(text) ?? 0) + 1);
  }

  /**
   * A filter for the lines that come when the log is read again, in their order: true for new ones. All lines
   * of the last time are known until every remembered one has come, since those before them were read or left
   * out.
   */
  resume(): (line: LogLine) => boolean {
    const [time, left] = [this.#time, new Map(this.#texts)];
    return (line) => {
      if (line.time !== time) return line.time > time;
      if (left.size === 0) return true;
      const times = left.get(line.text) ?? 0;
      if (times > 1) left.set(line.text, times - 1);
      else left.delete(line.text);
      return false;
    };
  }
}
