/** Kinds of volumes that lead out of a pod's namespace, as far as storage goes. */
export const AGENT_VOLUMES = ['persistentVolumeClaim', 'nfs', 'csi'] as const;

export type AgentVolume = (typeof AGENT_VOLUMES)[number];

/**
 * Kinds separated by commas, or `none`.
 * @throws Error when one is another
 */
export function parseAgentVolumes(text: string): readonly AgentVolume[] {
  if (text === 'none') return [];
  return text.split(',').map((name) => {
    const kind = AGENT_VOLUMES.find((one) => one === name);
    if (kind === undefined)
      throw new Error(
        `must be none, or of ${AGENT_VOLUMES.join(', ')}, separated by commas, but has ${JSON.stringify(name)}`,
      );
    return kind;
  });
}
