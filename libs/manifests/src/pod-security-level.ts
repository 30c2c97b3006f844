/** Levels of the Pod Security Standards of Kubernetes. */
const LEVELS = ['privileged', 'baseline', 'restricted'] as const;

export type PodSecurityLevel = (typeof LEVELS)[number];

/** Label by which an API server refuses pods of a namespace. */
export const POD_SECURITY_LABEL = 'pod-security.kubernetes.io/enforce';

/** The level that a namespace enforces; undefined when its cluster decides. */
export function podSecurityOf(namespace: {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
}): PodSecurityLevel | undefined {
  const level = namespace.metadata.labels?.[POD_SECURITY_LABEL];
  return LEVELS.find((one) => one === level);
}

/**
 *
 * @throws Error when the text is not a level
 */
export function parsePodSecurityLevel(text: string): PodSecurityLevel {
  const level = LEVELS.find((one) => one === text);
  if (level === undefined)
    throw new Error(`must be one of ${LEVELS.join(', ')}, but is ${JSON.stringify(text)}`);
  return level;
}
