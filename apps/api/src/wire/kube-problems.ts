import type { FieldProblem } from '#lib/errors';
import type { KubeApiError, KubeErrorCause } from '#lib/kube';
import { MAX_PROBLEMS } from './excess.js';

function snake(camel: string): string {
  return camel.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`);
}

/** Fields whose name on the wire is not their name in the resource. */
const WIRE_NAMES: ReadonlyMap<string, string> = new Map([
  ['destinationRef', 'bulk_export_destination_id'],
  ['tracingProject', 'session_id'],
  ['type', 'destination_type'],
]);

/** Parts of a pod in a resource spec, whose fields have the names of Kubernetes on the wire too. */
const POD_PARTS: ReadonlySet<string> = new Set([
  'affinity',
  'annotations',
  'initContainers',
  'labels',
  'nodeSelector',
  'sidecars',
  'tolerations',
  'topologySpreadConstraints',
  'volumeMounts',
  'volumes',
]);

function segments(path: string): (string | number)[] {
  const names = path.split(/[.[\]]/).filter((segment) => segment !== '');
  const podPart = names.indexOf('resourceSpec') + 1;
  const isOfPod = podPart > 0 && POD_PARTS.has(names[podPart] ?? '');
  return names.map((segment, index) => {
    if (/^\d+$/.test(segment)) return Number(segment);
    return isOfPod && index > podPart ? segment : (WIRE_NAMES.get(segment) ?? snake(segment));
  });
}

/** `sourceConfig.repoUrl is only for …`: a rule over several fields names the field in its message. */
const NAMED = /^((?:[a-z][A-Za-z0-9]*)(?:\.[a-z][A-Za-z0-9]*)*) (?=is |must |cannot )/;

function withoutSpec(field: string): string {
  return field.replace(/^spec\.?/, '').replace(/^<nil>$/, '');
}

function problem(cause: KubeErrorCause): FieldProblem {
  const field = withoutSpec(cause.field ?? '');
  // `Invalid value: "object": sourceConfig.repoUrl is only for …`
  const message = (cause.message ?? 'is not valid').replace(
    /^Invalid value: ("(?:object|array|string|integer|number|boolean)"|\{.*?\}): /s,
    '',
  );
  const named = NAMED.exec(message);
  const path = named?.[1] ?? '';
  const isOwnName = path !== '' && (field === path || field.endsWith(`.${path}`));
  const loc = ['body', ...segments(field), ...(isOwnName ? [] : segments(path))];
  return {
    loc,
    msg: path === '' ? message : segments(path).join('.') + message.slice(path.length),
    type: snake(cause.reason ?? 'FieldValueInvalid').replace(/^_/, ''),
  };
}

/** Problems that the API server found in a resource, in the shape and names of this API. */
export function problemsOfInvalid(error: KubeApiError): readonly FieldProblem[] {
  const all = error.details.causes ?? [];
  // rules that were not evaluated, because of the other mistakes
  const told = all.filter(({ field }) => field !== '<nil>');
  const causes = told.length > 0 ? told : all;
  if (causes.length === 0) return [{ loc: ['body'], msg: error.message, type: 'field_value_invalid' }];
  return causes.slice(0, MAX_PROBLEMS).map(problem);
}

/** Fields that the kind does not have. Kubernetes lists no causes for them, so they are read from its words. */
export function unknownFieldProblems(error: KubeApiError): readonly FieldProblem[] {
  if (error.code !== 400) return [];
  const fields = [...error.message.matchAll(/unknown field "([^"]+)"/g)].map(([, field = '']) => field);
  return fields.slice(0, MAX_PROBLEMS).map((field) => ({
    loc: ['body', ...segments(withoutSpec(field))],
    msg: `unknown field ${JSON.stringify(segments(withoutSpec(field)).at(-1))}`,
    type: 'extra_forbidden',
  }));
}
