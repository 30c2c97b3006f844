import type { PodResources } from '#lib/resources';

/** Wanted cores and megabytes of one container; all optional. */
export interface WantedResources {
  readonly cpu?: number;
  readonly cpuLimit?: number;
  readonly memoryMb?: number;
  readonly memoryLimitMb?: number;
}

/** Used where nothing is wanted: small, so that several agents fit on a machine with two cores. */
const DEFAULT_MILLICORES = 100;
const DEFAULT_MEMORY_MB = 256;

/**
 * Requests and limits: a limit is twice its request unless it is given. Where no request is given there is no default
 * limit either, because twice the small default would throttle an agent of unknown size.
 */
export function podResources(wanted: WantedResources): PodResources {
  const cpuLimit = millicores(wanted.cpuLimit) ?? double(millicores(wanted.cpu));
  const cpu = millicores(wanted.cpu) ?? Math.min(DEFAULT_MILLICORES, cpuLimit ?? DEFAULT_MILLICORES);
  const memoryLimit = wanted.memoryLimitMb ?? double(wanted.memoryMb);
  const memory = wanted.memoryMb ?? Math.min(DEFAULT_MEMORY_MB, memoryLimit ?? DEFAULT_MEMORY_MB);
  const limits = {
    ...(cpuLimit === undefined ? {} : { cpu: `${cpuLimit}m` }),
    ...(memoryLimit === undefined ? {} : { memory: `${memoryLimit}Mi` }),
  };
  return {
    requests: { cpu: `${cpu}m`, memory: `${memory}Mi` },
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

/** Cores are rounded to one decimal place. */
function millicores(cores: number | undefined): number | undefined {
  return cores === undefined ? undefined : Math.round(cores * 10) * 100;
}

function double(value: number | undefined): number | undefined {
  return value === undefined ? undefined : value * 2;
}
