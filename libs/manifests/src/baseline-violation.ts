import { at } from '#lib/json';
import type { Container, ResourceSpec } from '#lib/resources';

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

/** A field that the baseline Pod Security Standard does not allow, and what it has. */
export interface BaselineViolation {
  readonly field: string;
  readonly value: string;
}

const CAPABILITIES: ReadonlySet<unknown> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);
const SELINUX_TYPES: ReadonlySet<unknown> = new Set([
  '',
  'container_t',
  'container_init_t',
  'container_kvm_t',
  'container_engine_t',
]);
const PROFILES: ReadonlySet<unknown> = new Set(['RuntimeDefault', 'Localhost']);
/** Annotation of clusters before version 1.30, and read by later ones. */
const APPARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';

/** Allowed values of fields; fields that are absent are allowed. */
const RULES: Readonly<Record<string, (value: unknown) => boolean>> = {
  privileged: (value) => value === false,
  'capabilities.add': (value) => Array.isArray(value) && value.every((one) => CAPABILITIES.has(one)),
  procMount: (value) => value === 'Default',
  'seccompProfile.type': (value) => PROFILES.has(value),
  'appArmorProfile.type': (value) => PROFILES.has(value),
  'seLinuxOptions.type': (value) => SELINUX_TYPES.has(value),
  'seLinuxOptions.user': (value) => value === '',
  'seLinuxOptions.role': (value) => value === '',
  'windowsOptions.hostProcess': (value) => value === false,
};

/**
 * The first field of a resource spec with which the baseline Pod Security Standard refuses the pods. Host namespaces, ports
 * and paths have no fields there; the platform's own part of the pods satisfies the standard.
 */
export function findBaselineViolation(spec: ResourceSpec): BaselineViolation | undefined {
  const [annotation] = Object.entries(spec.annotations ?? {}).filter(
    ([name, value]) =>
      name.startsWith(APPARMOR_ANNOTATION) && !/^(runtime\/default$|localhost\/)/.test(value),
  );
  if (annotation) return { field: `annotations[${annotation[0]}]`, value: annotation[1] };
  return firstOf('initContainers', spec.initContainers ?? []) ?? firstOf('sidecars', spec.sidecars ?? []);
}

function firstOf(list: string, containers: readonly Container[]): BaselineViolation | undefined {
  for (const { name, securityContext } of containers)
    for (const [field, allows] of Object.entries(RULES)) {
      const value = at(securityContext, ...field.split('.'));
      if (value === undefined || value === null || allows(value)) continue;
      return { field: `${list}[${name}].securityContext.${field}`, value: JSON.stringify(value) };
    }
  return undefined;
}
