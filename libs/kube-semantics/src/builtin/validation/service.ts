import type { JsonObject } from '#lib/json';
import { listAt, recordAt, textAt } from '../../object/reading.js';
import { duplicate, type FieldError, invalid, required } from '../../schema/field-error.js';
import { dnsLabel, portNumber } from '../../schema/names.js';
import { validateLabels } from '../../schema/object-meta.js';
import { eachItem, oneOf, problems } from './checks.js';
import { validatePort } from './container-probes.js';
import { validateSelectorSize } from './label-selector.js';
import type { Validator } from './validator.js';

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];

export const validateService: Validator = (service, old) => {
  const spec = recordAt(service, 'spec');
  const type = textAt(spec, ['type']);
  const ports = listAt(spec, 'ports');
  const isHeadless = spec['clusterIP'] === 'None';
  const errors: FieldError[] = [];
  if (ports.length === 0 && !isHeadless && type !== 'ExternalName') errors.push(required('spec.ports'));
  errors.push(...validatePorts(spec['ports'], ports.length > 1));
  errors.push(...validateSelectorSize(recordAt(spec, 'selector'), 'spec.selector'));
  errors.push(...validateLabels(recordAt(spec, 'selector'), 'spec.selector'));
  errors.push(...oneOf(spec['sessionAffinity'], 'spec.sessionAffinity', ['ClientIP', 'None']));
  errors.push(...oneOf(spec['type'], 'spec.type', TYPES));
  if (type === 'ExternalName' && textAt(spec, ['externalName']) === '')
    errors.push(required('spec.externalName'));
  return old === undefined ? errors : [...errors, ...addressErrors(spec, recordAt(old, 'spec'))];
};

function validatePorts(list: unknown, needsNames: boolean): readonly FieldError[] {
  const names = new Set<string>();
  const places = new Set<string>();
  return eachItem(list, 'spec.ports', (item, at) => {
    const name = textAt(item, ['name']);
    const number = typeof item['port'] === 'number' ? item['port'] : 0;
    const errors = [
      ...portNameErrors(name, at, needsNames, names),
      ...problems(number, `${at}.port`, portNumber(number)),
    ];
    errors.push(...oneOf(item['protocol'], `${at}.protocol`, ['SCTP', 'TCP', 'UDP']));
    if (item['targetPort'] !== undefined)
      errors.push(...validatePort(item['targetPort'], `${at}.targetPort`));
    const protocol = textAt(item, ['protocol']);
    const place = `${protocol}/${number}`;
    if (places.has(place)) errors.push(duplicate(at, { protocol, port: number }));
    places.add(place);
    return errors;
  });
}

function portNameErrors(
  name: string,
  path: string,
  isNeeded: boolean,
  seen: Set<string>,
): readonly FieldError[] {
  if (name === '') return isNeeded ? [required(`${path}.name`)] : [];
  const errors = problems(name, `${path}.name`, dnsLabel(name));
  const again = seen.has(name) ? [duplicate(`${path}.name`, name)] : [];
  seen.add(name);
  return [...errors, ...again];
}

/** An address once given stays, unless the Service becomes an alias. */
function addressErrors(spec: JsonObject, old: JsonObject): readonly FieldError[] {
  const before = textAt(old, ['clusterIP']);
  const next = textAt(spec, ['clusterIP']);
  if (before === '' || before === next || spec['type'] === 'ExternalName' || old['type'] === 'ExternalName')
    return [];
  if (next === '') return [];
  return [invalid('spec.clusterIPs[0]', [next], 'may not change once set')];
}
