import { isJsonObject, type JsonObject } from '#lib/json';
import { listAt, textAt } from '../../object/reading.js';
import { type FieldError, forbidden, invalid, required } from '../../schema/field-error.js';
import { portName, portNumber } from '../../schema/names.js';
import { nonNegative, oneOf, problems } from './checks.js';

const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'];
const TIMES = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
];
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'];

/** The probes and life cycle hooks of a container. */
export function validateProbes(container: JsonObject, path: string): readonly FieldError[] {
  const probes = PROBES.flatMap((name) => {
    const probe = container[name];
    return isJsonObject(probe) ? validateProbe(probe, `${path}.${name}`, name) : [];
  });
  const lifecycle = isJsonObject(container['lifecycle']) ? container['lifecycle'] : {};
  const hooks = ['postStart', 'preStop'].flatMap((name) => {
    const hook = lifecycle[name];
    return isJsonObject(hook) ? validateHandler(hook, `${path}.lifecycle.${name}`) : [];
  });
  return [...hooks, ...probes];
}

function validateProbe(probe: JsonObject, path: string, name: string): readonly FieldError[] {
  const threshold = probe['successThreshold'];
  const errors = [...validateHandler(probe, path), ...nonNegative(probe, path, ...TIMES)];
  if (name !== 'readinessProbe' && threshold !== undefined && threshold !== 1) {
    errors.push(invalid(`${path}.successThreshold`, threshold, 'must be 1'));
  }
  return errors;
}

function validateHandler(handler: JsonObject, path: string): readonly FieldError[] {
  const given = HANDLERS.filter((name) => isJsonObject(handler[name]));
  const [first, ...more] = given;
  if (first === undefined) return [required(path, 'must specify a handler type')];
  const action = handler[first];
  return [
    ...(isJsonObject(action) ? validateAction(first, action, `${path}.${first}`) : []),
    ...more.map((name) => forbidden(`${path}.${name}`, 'may not specify more than 1 handler type')),
  ];
}

function validateAction(name: string, action: JsonObject, path: string): readonly FieldError[] {
  switch (name) {
    case 'exec':
      return listAt(action, 'command').length > 0 ? [] : [required(`${path}.command`)];
    case 'httpGet':
      return [
        ...(textAt(action, ['path']) === '' ? [required(`${path}.path`)] : []),
        ...validatePort(action['port'], `${path}.port`),
        ...oneOf(action['scheme'], `${path}.scheme`, ['HTTP', 'HTTPS']),
      ];
    case 'tcpSocket':
      return validatePort(action['port'], `${path}.port`);
    default:
      return [];
  }
}

/** A number or the name of one of the container's ports. */
export function validatePort(port: unknown, path: string): readonly FieldError[] {
  if (typeof port === 'string') return problems(port, path, portName(port));
  const number = typeof port === 'number' ? port : 0;
  return problems(number, path, portNumber(number));
}
