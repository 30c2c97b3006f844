import { parseAmounts } from '#lib/kube-semantics';
import type { PodContainer } from '#lib/resources';

const NANO = 10n ** 9n;
const MEBIBYTE = 2 ** 20;
/** The rest is for memory outside of the heap: buffers, code, and the young generation. */
const HEAP_SHARE = 0.7;
/** A program of Node does not start in less. */
const LEAST_HEAP_MB = 48;

/** `resources.limits.memory` in bytes; undefined where there is no limit. */
export function memoryLimit({ resources }: Pick<PodContainer, 'resources'>): number | undefined {
  const nano = parseAmounts(resources?.limits).get('memory');
  return nano === undefined ? undefined : Number(nano / NANO);
}

/** `resources.limits.cpu` in cores; undefined where there is no limit. */
export function cpuLimit({ resources }: Pick<PodContainer, 'resources'>): number | undefined {
  const nano = parseAmounts(resources?.limits).get('cpu');
  return nano === undefined ? undefined : Number(nano) / Number(NANO);
}

/** Has V8 collect before a container is ended for its memory. A flag in `NODE_OPTIONS` counts more. */
export function heapArguments(
  container: Pick<PodContainer, 'resources'>,
  environment: Readonly<Record<string, string>>,
): readonly string[] {
  const maxBytes = memoryLimit(container);
  const isChosen = /--max[-_]old[-_]space[-_]size/.test(environment.NODE_OPTIONS ?? '');
  if (maxBytes === undefined || isChosen) return [];
  const megabytes = Math.max(LEAST_HEAP_MB, Math.floor((maxBytes * HEAP_SHARE) / MEBIBYTE));
  return [`--max-old-space-size=${megabytes}`];
}

/** Reason why a container was ended. */
export function excessText(usedBytes: number, maxBytes: number): string {
  const [used, max] = [usedBytes, maxBytes].map((bytes) => Math.round(bytes / MEBIBYTE));
  return `used ${used} MiB of memory, and its limit is ${max} MiB; raise resources.limits.memory (memory_limit_mb)`;
}
