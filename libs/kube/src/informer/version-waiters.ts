import type { Clock } from '#lib/time';
import { compareVersions } from './resource-version.js';

interface Waiter {
  readonly version: string;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  readonly cancel: () => void;
}

/** Callers that wait until a version has been seen. */
export class VersionWaiters {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();
  #version = '';

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wait(version: string, timeoutMs: number): Promise<void> {
    if (compareVersions(version, this.#version) <= 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(timeoutMs, () => {
        this.#waiters.delete(waiter);
        reject(new Error(`version ${version} was not seen within ${timeoutMs} ms`));
      });
      const waiter: Waiter = { version, resolve, reject, cancel };
      this.#waiters.add(waiter);
    });
  }

  reached(version: string): void {
    if (compareVersions(version, this.#version) > 0) this.#version = version;
    for (const waiter of this.#waiters) {
      if (compareVersions(waiter.version, this.#version) > 0) continue;
      this.#waiters.delete(waiter);
      waiter.cancel();
      waiter.resolve();
    }
  }

  fail(error: Error): void {
    for (const waiter of this.#waiters) {
      waiter.cancel();
      waiter.reject(error);
    }
    this.#waiters.clear();
  }
}
