import { isJsonObject, type JsonObject } from '#lib/json';
import { listAt, recordAt, textAt } from '../../object/reading.js';
import {
  duplicate,
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  required,
} from '../../schema/field-error.js';
import { BlockList, isIP } from '../../schema/ip-address.js';
import { portNumber, qualifiedName } from '../../schema/names.js';
import { eachItem, immutable, named, oneOf, problems, type Validator } from './checks.js';
import { validatePort, validateQuantities } from './container.js';
import { validateSelector } from './label-selector.js';

const HIGHEST_PRIORITY = 1_000_000_000;
const QUOTA_NAMES =
  /^((requests\.|limits\.)?(cpu|memory|ephemeral-storage)|requests\.storage|pods|services(\.nodeports|\.loadbalancers)?|replicationcontrollers|resourcequotas|secrets|configmaps|persistentvolumeclaims|(requests\.)?hugepages-.+|.+\/.+)$/;
const LIMIT_TYPES = /^(Pod|Container|PersistentVolumeClaim|.+\/.+)$/;

export const validateDisruptionBudget: Validator = ({ spec }) => {
  if (!isJsonObject(spec)) return [];
  const { minAvailable, maxUnavailable, selector } = spec;
  return [
    ...(minAvailable === undefined || maxUnavailable === undefined
      ? []
      : [invalid('spec', spec, 'minAvailable and maxUnavailable cannot be both set')]),
    ...countOrPercent(minAvailable, 'spec.minAvailable'),
    ...countOrPercent(maxUnavailable, 'spec.maxUnavailable'),
    ...(isJsonObject(selector) ? validateSelector(selector, 'spec.selector') : []),
    ...oneOf(spec['unhealthyPodEvictionPolicy'], 'spec.unhealthyPodEvictionPolicy', [
      'AlwaysAllow',
      'IfHealthyBudget',
    ]),
  ];
};

function countOrPercent(value: unknown, path: string): readonly FieldError[] {
  if (typeof value === 'number')
    return value >= 0 ? [] : [invalid(path, value, 'must be greater than or equal to 0')];
  if (typeof value !== 'string') return [];
  if (!/^[0-9]+%$/.test(value)) {
    const text =
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
    return [invalid(path, value, text)];
  }
  return Number.parseInt(value, 10) > 100 ? [invalid(path, value, 'must not be greater than 100%')] : [];
}

export const validateNetworkPolicy: Validator = (policy) => {
  const spec = recordAt(policy, 'spec');
  return [
    ...validateSelector(recordAt(spec, 'podSelector'), 'spec.podSelector'),
    ...rules(spec['ingress'], 'spec.ingress', 'from'),
    ...rules(spec['egress'], 'spec.egress', 'to'),
    ...errorsOfEach(listAt(spec, 'policyTypes'), (type, index) =>
      oneOf(type, `spec.policyTypes[${index}]`, ['Ingress', 'Egress']),
    ),
  ];
};

function rules(list: unknown, path: string, side: 'from' | 'to'): readonly FieldError[] {
  return eachItem(list, path, (rule, at) => [
    ...eachItem(rule['ports'], `${at}.ports`, policyPort),
    ...eachItem(rule[side], `${at}.${side}`, peer),
  ]);
}

function policyPort({ protocol, port, endPort }: JsonObject, path: string): readonly FieldError[] {
  const protocols = oneOf(protocol, `${path}.protocol`, ['TCP', 'UDP', 'SCTP']);
  const ports = port === undefined ? [] : validatePort(port, `${path}.port`);
  return [
    ...protocols,
    ...ports,
    ...(endPort === undefined ? [] : lastPort(endPort, port, `${path}.endPort`)),
  ];
}

function lastPort(last: unknown, first: unknown, path: string): readonly FieldError[] {
  if (first === undefined) return [invalid(path, last, 'may not be specified when `port` is not specified')];
  if (typeof first === 'string')
    return [invalid(path, last, 'may not be specified when `port` is non-numeric')];
  return [
    ...(Number(last) < Number(first)
      ? [invalid(path, first, 'must be greater than or equal to `port`')]
      : []),
    ...problems(last, path, portNumber(Number(last))),
  ];
}

function peer({ podSelector, namespaceSelector, ipBlock }: JsonObject, path: string): readonly FieldError[] {
  const given = [podSelector, namespaceSelector, ipBlock].filter((one) => one !== undefined);
  return [
    ...(isJsonObject(podSelector) ? validateSelector(podSelector, `${path}.podSelector`) : []),
    ...(isJsonObject(namespaceSelector)
      ? validateSelector(namespaceSelector, `${path}.namespaceSelector`)
      : []),
    ...(isJsonObject(ipBlock) ? block(ipBlock, `${path}.ipBlock`) : []),
    ...(given.length === 0 ? [required(path, 'must specify a peer')] : []),
    ...(given.length > 1 && ipBlock !== undefined
      ? [forbidden(path, 'may not specify both ipBlock and another peer')]
      : []),
  ];
}

function block(ipBlock: JsonObject, path: string): readonly FieldError[] {
  const cidr = textAt(ipBlock, ['cidr']);
  if (cidr === '') return [required(`${path}.cidr`)];
  const around = network(cidr);
  if (around === undefined) return [notCidr(`${path}.cidr`, cidr)];
  return errorsOfEach(listAt(ipBlock, 'except'), (value, index) => {
    const at = `${path}.except[${index}]`;
    const within = network(String(value));
    if (within === undefined) return [notCidr(at, value)];
    const list = new BlockList();
    list.addSubnet(around.address, around.length, around.family);
    const isInside = within.length > around.length && list.check(within.address, within.family);
    return isInside ? [] : [invalid(at, value, 'must be a strict subset of `cidr`')];
  });
}

function notCidr(path: string, value: unknown): FieldError {
  return invalid(path, value, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)');
}

function network(cidr: string) {
  const [, address = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(cidr) ?? [];
  const version = isIP(address);
  const length = Number(bits);
  if (version === 0 || length > (version === 4 ? 32 : 128)) return undefined;
  return { address, length, family: version === 4 ? ('ipv4' as const) : ('ipv6' as const) };
}

export const validatePriorityClass: Validator = (priorityClass, old) => {
  const { value, preemptionPolicy } = priorityClass;
  if (old !== undefined) {
    return [
      ...(value === old['value'] ? [] : [forbidden('value', 'may not be changed in an update.')]),
      ...immutable(preemptionPolicy, old['preemptionPolicy'], 'preemptionPolicy'),
    ];
  }
  const name = textAt(priorityClass, ['metadata', 'name']);
  return [
    ...(name.startsWith('system-')
      ? [
          forbidden(
            'metadata.name',
            "priority class names with 'system-' prefix are reserved for system use only",
          ),
        ]
      : []),
    ...(Number(value) > HIGHEST_PRIORITY
      ? [forbidden('value', `maximum allowed value of a user defined priority is ${HIGHEST_PRIORITY}`)]
      : []),
    ...oneOf(preemptionPolicy, 'preemptionPolicy', ['PreemptLowerPriority', 'Never']),
  ];
};

export const validateStorageClass: Validator = (storageClass, old) => [
  ...(old === undefined
    ? named(storageClass['provisioner'], 'provisioner', (text) => qualifiedName(text.toLowerCase()))
    : ['parameters', 'provisioner', 'reclaimPolicy'].flatMap((field) =>
        immutable(storageClass[field], old[field], field).map(() =>
          forbidden(field, `updates to ${field} are forbidden.`),
        ),
      )),
  ...(old === undefined
    ? []
    : immutable(storageClass['volumeBindingMode'], old['volumeBindingMode'], 'volumeBindingMode')),
  ...oneOf(storageClass['reclaimPolicy'], 'reclaimPolicy', ['Delete', 'Retain']),
  ...oneOf(storageClass['volumeBindingMode'], 'volumeBindingMode', ['Immediate', 'WaitForFirstConsumer']),
];

export const validateResourceQuota: Validator = (quota) => {
  const hard = recordAt(quota, 'spec', 'hard');
  return [
    ...errorsOfEach(Object.keys(hard), (name) =>
      QUOTA_NAMES.test(name)
        ? []
        : [
            'must be a standard resource type or fully qualified',
            'must be a standard resource for quota',
          ].map((text) => invalid(`spec.hard[${name}]`, name, text)),
    ),
    ...validateQuantities(hard, 'spec.hard', /./),
  ];
};

export const validateLimitRange: Validator = (range) => {
  const types = new Set<unknown>();
  return eachItem(recordAt(range, 'spec')['limits'], 'spec.limits', (limit, at) => {
    const type = textAt(limit, ['type']);
    const again = types.has(type) ? [duplicate(`${at}.type`, type)] : [];
    types.add(type);
    return [
      ...(LIMIT_TYPES.test(type)
        ? []
        : [invalid(`${at}.type`, type, 'must be a standard limit type or fully qualified')]),
      ...again,
      ...['max', 'min', 'default', 'defaultRequest'].flatMap((field) =>
        validateQuantities(recordAt(limit, field), `${at}.${field}`, /./),
      ),
    ];
  });
};
