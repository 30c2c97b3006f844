import { type PodSpec, PROCESS_RUNTIME, PROCESS_RUNTIME_TAINT } from '#lib/resources';
import type { AddressMode } from './address-mode.js';

/**
 * The part of a pod's spec that brings it to a node which can run it. Where Services are reached on loopback,
 * images are names that only the process runtime resolves: in a cluster with other nodes they would end as
 * `ErrImagePull` there. The process runtime taints its node in a cluster of others, so that no foreign pods
 * are scheduled to it.
 */
export function runtimePlacement({
  addresses,
}: {
  readonly addresses: AddressMode;
}): Pick<PodSpec, 'nodeSelector' | 'tolerations'> {
  if (addresses !== 'loopback') return {};
  const { key, value, effect } = PROCESS_RUNTIME_TAINT;
  return {
    nodeSelector: PROCESS_RUNTIME,
    tolerations: [{ key, operator: 'Equal', value, effect }],
  };
}
