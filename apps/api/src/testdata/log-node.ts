import { Readable } from 'node:stream';
import type { NodeLogDialer } from '#lib/embedded-kube';

/** The logs of a node's containers, for an API server under test: each prints what a test tells it to. */
export class LogNode {
  readonly #lines = new Map<string, string[]>();
  readonly #followers = new Map<string, Set<Readable>>();

  readonly dial: NodeLogDialer = async ({ path, signal }) => {
    const url = new URL(path, 'https://node');
    const name = url.pathname.replace('/containerLogs/', '');
    const { tailLines, sinceTime, follow } = Object.fromEntries(url.searchParams);
    const all = this.#lines.get(name);
    if (!all) return { status: 404, body: Readable.from([`${name} is not on this node`]) };
    const newer = all.filter((line) => line >= (sinceTime ?? '').slice(0, 19));
    const lines = tailLines === undefined ? newer : newer.slice(newer.length - Number(tailLines));
    const body = new Readable({ read: () => undefined });
    body.push(lines.join(''));
    if (follow === 'true') this.#join(name, body, signal);
    else body.push(null);
    return { status: 200, body };
  };

  /** @param name `NAMESPACE/POD/CONTAINER` */
  print(name: string, time: string, ...texts: readonly string[]): void {
    const lines = texts.map((text) => `${time} ${text}\n`);
    this.#lines.set(name, [...(this.#lines.get(name) ?? []), ...lines]);
    for (const follower of this.#followers.get(name) ?? []) follower.push(lines.join(''));
  }

  /** How many read a log as it grows. */
  get followers(): number {
    return [...this.#followers.values()].reduce((sum, { size }) => sum + size, 0);
  }

  #join(name: string, body: Readable, signal: AbortSignal): void {
    const followers = this.#followers.get(name) ?? new Set();
    this.#followers.set(name, followers.add(body));
    const leave = (): void => void followers.delete(body);
    body.once('close', leave);
    signal.addEventListener('abort', () => body.destroy(), { once: true });
  }
}
