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

function segments(path: string): (string | number)[] {
  return path
    .split(/[.[\]]/)
    .filter((segment) => segment !== '')
    .map((segment) =>
      /^\d+$/.test(segment) ? Number(segment) : (WIRE_NAMES.get(segment) ?? snake(segment)),
    );
}

/** `sourceConfig.repoUrl is only for …`: a rule over several fields names the field in its message. */
const NAMED = /^((?:[a-z][A-Za-z0-9]*)(?:\.[a-z][A-Za-z0-9]*)*) (?=is |must |cannot )/;

function problem(cause: KubeErrorCause): FieldProblem {
  const field = (cause.field ?? '').replace(/^spec\.?/, '').replace(/^<nil>$/, '');
  // `Invalid value: "object": sourceConfig.repoUrl is only for …`
  const message = (cause.message ?? 'is not valid').replace(/^Invalid value: ("object"|\{.*?\}): /s, '');
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

/** What the API server found wrong with a resource, in the shape and names of the wire. */
export function problemsOfInvalid(error: KubeApiError): readonly FieldProblem[] {
  const causes = error.details.causes ?? [];
  if (causes.length === 0) return [{ loc: ['body'], msg: error.message, type: 'field_value_invalid' }];
  return causes.slice(0, MAX_PROBLEMS).map(problem);
}
