import type { Pod } from '#lib/resources';
import { POD_FIELDS, type PodSection, type ProcessUser } from './pod-fields.js';

/** A field of a pod that cannot be honoured. */
export interface RefusedField {
  /** Path as Kubernetes writes it: `spec.containers[0].securityContext.privileged`. */
  readonly path: string;
  readonly value: unknown;
  /** Remedy for the user. */
  readonly instead: string;
}

const MAX_VALUE_LENGTH = 60;
const MAX_NAMED = 5;

/** Everything in the pod's spec that this runtime cannot honour; empty for a pod that can run. */
export function refusedFields({ spec }: Pod, user: ProcessUser): readonly RefusedField[] {
  return judge('PodSpec', spec, 'spec', user);
}

/** Text for people: the first fields with their values, and the remedy for each. */
export function refusalText(fields: readonly RefusedField[]): string {
  const named = fields
    .slice(0, MAX_NAMED)
    .map(({ path, value, instead }) => `${path} is ${shortText(value)}: ${instead}`);
  const more = fields.length - named.length;
  return `the process runtime cannot honour ${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

function judge(section: PodSection, value: unknown, path: string, user: ProcessUser): RefusedField[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => judge(section, item, `${path}[${at}]`, user));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const rule = Object.hasOwn(POD_FIELDS[section], name) ? POD_FIELDS[section][name] : undefined;
    const at = `${path}.${name}`;
    if (rule?.kind === 'inside') return judge(rule.section, field, at, user);
    if (rule?.kind !== 'refused') return [];
    const isAllowed = rule.allows ? field === undefined || rule.allows(field, user) : isEmpty(field);
    return isAllowed ? [] : [{ path: at, value: field, instead: rule.instead }];
  });
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === false || value === '' || value === 0;
}

function shortText(value: unknown): string {
  const text = JSON.stringify(value) ?? '';
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text;
}
