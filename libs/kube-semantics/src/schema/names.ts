/** The rules for names, labels and keys, with the sentences of Kubernetes (apimachinery `util/validation`). */

const QUALIFIED = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const LABEL_1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const CONFIG_KEY = '[-._a-zA-Z0-9]+';

const QUALIFIED_TEXT =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const LABEL_VALUE_TEXT = `a valid label must be an empty string or ${QUALIFIED_TEXT.slice('must '.length)}`;
const LABEL_TEXT =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const SUBDOMAIN_TEXT =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const LABEL_1035_TEXT =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";

type Problems = readonly string[];

function whole(source: string): RegExp {
  return new RegExp(`^(?:${source})$`);
}

function mismatch(text: string, source: string, ...examples: readonly string[]): string {
  const shown = examples.map((example, index) => `${index > 0 ? ' or ' : ''}'${example}', `).join('');
  return `${text} (e.g. ${shown}regex used for validation is '${source}')`;
}

const maxLength = (length: number): string => `must be no more than ${length} characters`;
const EMPTY = 'must be non-empty';

function bytes(text: string): number {
  return Buffer.byteLength(text);
}

/** Label keys, finalizers, annotations: `name` or `prefix/name`. */
export function qualifiedName(value: string): Problems {
  const parts = value.split('/');
  const wrong = mismatch(QUALIFIED_TEXT, QUALIFIED, 'MyName', 'my.name', '123-abc');
  if (parts.length > 2) {
    return [
      `a qualified name ${wrong} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const problems: string[] = [];
  const [prefix, name] = parts.length === 2 ? [parts[0], parts[1] ?? ''] : [undefined, parts[0] ?? ''];
  if (prefix === '') problems.push(`prefix part ${EMPTY}`);
  else if (prefix !== undefined) problems.push(...dnsSubdomain(prefix).map((text) => `prefix part ${text}`));
  if (name === '') problems.push(`name part ${EMPTY}`);
  else if (bytes(name) > 63) problems.push(`name part ${maxLength(63)}`);
  if (!whole(QUALIFIED).test(name)) problems.push(`name part ${wrong}`);
  return problems;
}

export function labelValue(value: string): Problems {
  const problems = bytes(value) > 63 ? [maxLength(63)] : [];
  const source = `(${QUALIFIED})?`;
  return whole(source).test(value)
    ? problems
    : [...problems, mismatch(LABEL_VALUE_TEXT, source, 'MyValue', 'my_value', '12345')];
}

export function dnsLabel(value: string): Problems {
  const problems = bytes(value) > 63 ? [maxLength(63)] : [];
  if (whole(LABEL).test(value)) return problems;
  if (whole(SUBDOMAIN).test(value)) return [...problems, 'must not contain dots'];
  return [...problems, mismatch(LABEL_TEXT, LABEL, 'my-name', '123-abc')];
}

export function dnsSubdomain(value: string): Problems {
  const problems = bytes(value) > 253 ? [maxLength(253)] : [];
  return whole(SUBDOMAIN).test(value)
    ? problems
    : [...problems, mismatch(SUBDOMAIN_TEXT, SUBDOMAIN, 'example.com')];
}

export function dnsLabel1035(value: string): Problems {
  const problems = bytes(value) > 63 ? [maxLength(63)] : [];
  return whole(LABEL_1035).test(value)
    ? problems
    : [...problems, mismatch(LABEL_1035_TEXT, LABEL_1035, 'my-name', 'abc-123')];
}

/** Names that need only be usable in a URL: RBAC. */
export function pathSegment(value: string, isPrefix = false): Problems {
  if (!isPrefix && (value === '.' || value === '..')) return [`may not be '${value}'`];
  return ['/', '%'].filter((part) => value.includes(part)).map((part) => `may not contain '${part}'`);
}

function upward(value: string): Problems {
  if (value === '.') return ["must not be '.'"];
  if (value === '..') return ["must not be '..'"];
  return value.startsWith('..') ? ["must not start with '..'"] : [];
}

/** Environment variables: since Kubernetes 1.34 anything printable but `=`. */
export function environmentName(value: string): Problems {
  if (value === '') return [`environment variable name ${EMPTY}`];
  return /^[ -<>-~]+$/.test(value)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

/** Keys of ConfigMaps and Secrets. */
export function configKey(value: string): Problems {
  const text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
  const problems = bytes(value) > 253 ? [maxLength(253)] : [];
  if (!whole(CONFIG_KEY).test(value)) {
    problems.push(mismatch(text, CONFIG_KEY, 'key.name', 'KEY_NAME', 'key-name'));
  }
  return [...problems, ...upward(value)];
}

/** Names of ports: up to 15 of a-z, 0-9 and single hyphens, one letter at least. */
export function portName(value: string): Problems {
  const problems: string[] = [];
  if (value.length > 15) problems.push(maxLength(15));
  if (!/^[-a-z0-9]+$/.test(value)) {
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  if (!/[a-z]/.test(value)) problems.push('must contain at least one letter (a-z)');
  if (value.includes('--')) problems.push('must not contain consecutive hyphens');
  if (value !== '' && (value.startsWith('-') || value.endsWith('-'))) {
    problems.push('must not begin or end with a hyphen');
  }
  return problems;
}

export function portNumber(value: number): Problems {
  return Number.isInteger(value) && value >= 1 && value <= 65535
    ? []
    : ['must be between 1 and 65535, inclusive'];
}
