import type { FieldProblem } from '#lib/errors';
import {
  isClaimName,
  isReservedClaimName,
  isReservedSecretName,
  isSecretName,
  MAX_NAMED_SECRETS,
  type NamedByPlatform,
  type RefusedObject,
  refusedObjectText,
} from '#lib/manifests';
import { databaseSecretName, namedByPodSpec, platformSecretName } from '#lib/resources';
import type { SecretReferenceRequest } from './deployment-request.js';
import type { ResourceSpecRequest } from './resource-spec-request.js';
import { wrongValue } from '../wire/request-pipe.js';

/** Place in which pods of the request would run, and the objects that are known there. */
export interface NamingPlace {
  /** Name of the AgentDeployment. */
  readonly name: string;
  readonly namespace: string;
  /** True when its pods run in another cluster, whose Secrets cannot be read here. */
  readonly isRemote: boolean;
  readonly homes: NamedByPlatform;
  readonly hasSecret: (name: string) => Promise<boolean>;
}

const RESOURCE_SPEC = ['source_config', 'resource_spec'];
const LISTS = [
  ['volumes', 'volumes'],
  ['init_containers', 'initContainers'],
  ['sidecars', 'containers'],
] as const;

/**
 * Secrets and claims that a resource spec names and that are refused by their names. The controller judges
 * the others, by their contents, and reports in the same words.
 */
export async function namedObjectProblems(
  spec: ResourceSpecRequest,
  references: readonly SecretReferenceRequest[],
  place: NamingPlace,
): Promise<readonly FieldProblem[]> {
  const parts = [
    ...LISTS.flatMap(([field, list]) =>
      (spec[field] ?? []).map((part, index) => ({
        loc: [...RESOURCE_SPEC, field, index],
        pod: { [list]: [part] },
      })),
    ),
    ...references.map(({ secret_name: name }, index) => ({
      loc: ['secret_references', index],
      pod: { containers: [{ env: [{ valueFrom: { secretKeyRef: { name } } }] }] },
    })),
  ];
  const secrets = new Set(parts.flatMap(({ pod }) => namedByPodSpec(pod, 'secrets')));
  if (secrets.size > MAX_NAMED_SECRETS)
    return [problem(RESOURCE_SPEC, { kind: 'too-many', count: secrets.size })];
  const problems: FieldProblem[] = [];
  for (const { loc, pod } of parts) {
    for (const name of namedByPodSpec(pod, 'persistentvolumeclaims')) {
      if (!isReservedClaimName(name)) continue;
      const why = isClaimName(name, place.namespace, place.homes) ? 'platform' : 'reserved';
      problems.push(problem(loc, { kind: 'PersistentVolumeClaim', name, why }));
    }
    for (const name of namedByPodSpec(pod, 'secrets')) {
      const why = await judgeSecretName(name, place);
      if (why) problems.push(problem(loc, { kind: 'Secret', name, why }));
    }
  }
  return problems;
}

async function judgeSecretName(
  name: string,
  { name: own, namespace, isRemote, homes, hasSecret }: NamingPlace,
): Promise<'platform' | 'reserved' | 'missing' | undefined> {
  // its pods have these two already
  if ([platformSecretName(own), databaseSecretName(own)].includes(name)) return undefined;
  if (isSecretName(name, namespace, homes)) return 'platform';
  if (isRemote) return isReservedSecretName(name, 'remote') ? 'reserved' : undefined;
  return isReservedSecretName(name, 'home') && !(await hasSecret(name)) ? 'missing' : undefined;
}

function problem(loc: readonly (string | number)[], refused: RefusedObject): FieldProblem {
  return wrongValue(['body', ...loc], refusedObjectText(refused));
}
