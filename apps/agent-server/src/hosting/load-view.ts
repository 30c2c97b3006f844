import type { Clock } from '#lib/time';
import type { LoadOrder } from '../protocol/messages.js';
import type { LoadPlace } from '../graph/load-progress.js';

/** Last report of a host about the graph that it loads, with the time since that graph was begun. */
export class LoadView {
  #place: LoadPlace | undefined;
  #hang: string | undefined;
  #sinceMs = 0;

  constructor(
    private readonly order: Pick<LoadOrder, 'folder' | 'module'>,
    private readonly clock: Clock,
  ) {}

  see(place: LoadPlace): void {
    if (place.graphId !== this.#place?.graphId) this.#sinceMs = this.clock.monotonicMs();
    this.#place = place;
    this.#hang = undefined;
  }

  /** The host executes this and nothing else. */
  seeHang(at: string): void {
    this.#hang = at;
  }

  /** Files by their names in the agent's folder, as their author knows them. */
  inFolder(text: string): string {
    const { folder } = this.order;
    return text.replaceAll(`file://${folder}/`, '').replaceAll(`${folder}/`, '');
  }

  describe(): string {
    if (!this.#place) return 'starting';
    const { graphId, file, waitsFor } = this.#place;
    const seconds = Math.floor((this.clock.monotonicMs() - this.#sinceMs) / 1000);
    const waits = waitsFor.length === 0 ? '' : `, which waits for ${waitsFor.join(' and ')}`;
    const hangs = this.#hang === undefined ? waits : `, which executes ${this.#hang}`;
    return this.inFolder(
      `${this.order.module ? '' : 'graph '}"${graphId}" has been loading for ${seconds} s; it is in ${file}${hangs}`,
    );
  }
}
