import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '#lib/json';
import { decodeProtobuf, ProtobufError } from './decode-protobuf.js';

interface Recorded {
  readonly command: string;
  readonly body?: string;
  readonly json?: JsonObject;
}

const file = fileURLToPath(new URL('./testdata/bodies.json', import.meta.url));
const recorded = JSON.parse(readFileSync(file, 'utf8')) as readonly Recorded[];
const asked = new Map(recorded.map(({ command, body }) => [command, Buffer.from(body ?? '', 'base64')]));

describe('bodies of kubectl (scripts/record-kubectl-bodies.mjs)', () => {
  const shown = recorded.filter(({ json, body }) => json !== undefined && body !== undefined);

  test.each(shown.map(({ command, body, json }) => [command, body, json] as const))('%s', (_, body, json) => {
    expect(withoutNulls(decodeProtobuf(Buffer.from(body ?? '', 'base64')))).toEqual(withoutNulls(json));
  });

  test('most commands send protobuf', () => {
    expect(shown.length).toBeGreaterThan(10);
  });

  test.each([
    [
      'create token default --duration=1h --audience=x',
      { spec: { audiences: ['x'], expirationSeconds: 3600 } },
    ],
    [
      'auth can-i create pods --namespace=recording',
      {
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { verb: 'create', resource: 'pods', namespace: 'recording' } },
      },
    ],
    ['auth can-i get /healthz', { spec: { nonResourceAttributes: { path: '/healthz', verb: 'get' } } }],
    ['auth can-i --list', { kind: 'SelfSubjectRulesReview', spec: { namespace: 'default' } }],
    ['auth whoami', { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }],
  ])('%s', (command, expected) => {
    expect(decodeProtobuf(asked.get(command) ?? new Uint8Array())).toMatchObject(expected);
  });
});

test("decodes a definition of Go's typed client", () => {
  const url = new URL('./testdata/definition.json', import.meta.url);
  const { body = '', json } = JSON.parse(readFileSync(url, 'utf8')) as Recorded;
  expect(withoutNulls(decodeProtobuf(Buffer.from(body, 'base64')))).toEqual(withoutNulls(json));
});

test.each([
  ['JSON', Buffer.from('{}'), 400],
  ['a cut body', asked.get('create namespace fresh')?.subarray(0, 40) ?? new Uint8Array(), 400],
  ['an unknown kind', Buffer.from([0x6b, 0x38, 0x73, 0, 0x0a, 6, 0x0a, 1, 0x76, 0x12, 1, 0x58]), 415],
])('%s is refused', (_, body, status) => {
  expect(() => decodeProtobuf(body)).toThrow(ProtobufError);
  try {
    decodeProtobuf(body);
  } catch (thrown) {
    expect(thrown).toMatchObject({ status });
  }
});

/** kubectl prints some nulls and empty statuses that are not in the body. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, withoutNulls(item)]),
  );
}

test('any bytes decode to an object or are refused', () => {
  const magic = [0x6b, 0x38, 0x73, 0];
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom(...asked.values()),
      fc.nat(300),
      (noise, body, at) => {
        const broken = Buffer.concat([body.subarray(0, at), noise, body.subarray(at)]);
        for (const bytes of [Buffer.from([...magic, ...noise]), broken]) {
          try {
            expect(typeof decodeProtobuf(bytes)).toBe('object');
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(ProtobufError);
          }
        }
      },
    ),
  );
});

test('a body of more fields than any object has is refused, whatever they are', () => {
  const many = 700_000;
  const length = [(many & 0x7f) | 0x80, ((many >> 7) & 0x7f) | 0x80, many >> 14];
  for (const [kind, pair] of [
    ['Pod', [0x12, 0]], // a spec
    ['ConfigMap', [0x12, 0]], // an entry
    ['ConfigMap', [0x58, 1]], // nothing that is known
  ] as const) {
    const type = [0x0a, 2, 0x76, 0x31, 0x12, kind.length, ...Buffer.from(kind)];
    const head = [0x6b, 0x38, 0x73, 0, 0x0a, type.length, ...type, 0x12, ...length];
    const body = Buffer.concat([Buffer.from(head), Buffer.alloc(many, Buffer.from(pair))]);
    expect(() => decodeProtobuf(body)).toThrow('it has too many fields');
  }
});

test('a table of the fields of a type is made once, not for each of its messages', () => {
  const many = 2_000;
  const containers = Buffer.alloc(2 * many, Buffer.from([0x12, 0]));
  const spec = [0x12, (containers.length & 0x7f) | 0x80, containers.length >> 7];
  const size = containers.length + spec.length;
  const type = [0x0a, 2, 0x76, 0x31, 0x12, 3, ...Buffer.from('Pod')];
  const head = [0x6b, 0x38, 0x73, 0, 0x0a, type.length, ...type, 0x12, (size & 0x7f) | 0x80, size >> 7];
  const body = Buffer.concat([Buffer.from([...head, ...spec]), containers]);
  let made = 0;
  const { Map: Usual } = globalThis;
  globalThis.Map = class<K, V> extends Usual<K, V> {
    constructor(entries?: Iterable<readonly [K, V]>) {
      super(entries ?? []);
      made++;
    }
  } as typeof Map;
  try {
    expect(decodeProtobuf(body)).toMatchObject({
      spec: { containers: Array.from({ length: many }, () => ({})) },
    });
  } finally {
    globalThis.Map = Usual;
  }
  expect(made).toBeLessThan(20);
});
