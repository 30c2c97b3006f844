import { describe, expect, it, jest } from '@jest/globals';
import { atOnce } from '#lib/json';
import { jsonSpans, protobufSpans, type ReceivedSpan, runOfSpan, UnreadableRequestError } from './index.js';
import { encodeRequest } from './testdata/encode-request.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

const request = (spans: readonly object[], resource: readonly object[] = []) => ({
  resourceSpans: [
    { resource: { attributes: resource }, scopeSpans: [{ scope: { name: 'lib', version: '1' }, spans }] },
  ],
});
const attribute = (key: string, value: object) => ({ key, value });

const FULL = request(
  [
    {
      traceId: TRACE,
      spanId: SPAN,
      parentSpanId: '00f067aa0ba902b7',
      traceState: 'a=b',
      name: 'é 🙂',
      kind: 3,
      startTimeUnixNano: '1763640000123456789',
      endTimeUnixNano: '1763640001000000000',
      attributes: [
        attribute('text', { stringValue: 'x\u0000y' }),
        attribute('whole', { intValue: '-42' }),
        attribute('long', { intValue: '9223372036854775807' }),
        attribute('part', { doubleValue: 0.5 }),
        attribute('flag', { boolValue: true }),
        attribute('bytes', { bytesValue: 'AAEC' }),
        attribute('nothing', {}),
        attribute('list', { arrayValue: { values: [{ stringValue: 'a' }, { intValue: '1' }] } }),
        attribute('map', { kvlistValue: { values: [attribute('__proto__', { stringValue: 'own' })] } }),
      ],
      events: [
        { name: 'e', timeUnixNano: '1763640000200000000', attributes: [attribute('k', { intValue: '1' })] },
      ],
      links: [{ traceId: TRACE, spanId: '00f067aa0ba902b7' }],
      status: { code: 2, message: 'wrong' },
    },
  ],
  [attribute('service.name', { stringValue: 'shop' })],
);

const decoded = (spans: Iterable<ReceivedSpan | undefined>): unknown =>
  [...spans]
    .filter((one) => one !== undefined)
    .map((one) => ({
      ...one,
      resource: [...one.resource],
      span: {
        ...one.span,
        attributes: [...one.span.attributes],
        events: one.span.events.map((event) => ({ ...event, attributes: [...event.attributes] })),
        links: one.span.links.map((link) => ({ ...link, attributes: [...link.attributes] })),
      },
    }));
const fromJson = (value: unknown) =>
  [...jsonSpans(Buffer.from(JSON.stringify(value)))].filter((one) => one !== undefined);
const whyNot = (read: () => unknown): UnreadableRequestError => {
  try {
    read();
  } catch (error) {
    if (error instanceof UnreadableRequestError) return error;
    throw error;
  }
  throw new Error('it was read');
};

describe('decoding of spans', () => {
  it('reads the same from protobuf and JSON', () => {
    const spans = decoded(protobufSpans(encodeRequest(FULL)));
    expect(spans).toEqual(decoded(fromJson(FULL)));
    expect(spans).toMatchObject([
      {
        resource: [['service.name', 'shop']],
        scope: { name: 'lib', version: '1' },
        place: ['resourceSpans', 0, 'scopeSpans', 0, 'spans', 0],
        span: {
          traceId: TRACE,
          spanId: SPAN,
          parentSpanId: '00f067aa0ba902b7',
          name: 'é 🙂',
          kind: 3,
          startTimeUnixNano: 1_763_640_000_123_456_789n,
          statusCode: 2,
          statusMessage: 'wrong',
          attributes: [
            ['text', 'x\0y'],
            ['whole', -42],
            ['long', '9223372036854775807'],
            ['part', 0.5],
            ['flag', true],
            ['bytes', 'AAEC'],
            ['nothing', null],
            ['list', ['a', 1]],
            ['map', JSON.parse('{"__proto__":"own"}')],
          ],
          leftOut: 0,
        },
      },
    ]);
  });

  it('takes an empty request', () => {
    expect([...protobufSpans(Buffer.alloc(0))]).toEqual([]);
    expect(fromJson({})).toEqual([]);
  });

  it('passes over fields that it does not know', () => {
    const later = Buffer.from([0x98, 0x06, 0x01, 0x9a, 0x06, 0x02, 0x61, 0x62, 0x9d, 0x06, 1, 2, 3, 4]);
    expect(decoded(protobufSpans(Buffer.concat([later, encodeRequest(FULL)])))).toEqual(
      decoded(fromJson(FULL)),
    );
  });

  it('takes the names of the protobuf definition in JSON', () => {
    const snake = JSON.stringify(FULL).replace(
      /"(\w+)":/g,
      (_, name: string) => `"${name.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`)}":`,
    );
    expect(decoded(jsonSpans(Buffer.from(snake)))).toEqual(decoded(fromJson(FULL)));
  });

  it.each<[string, unknown]>([
    ['a list', []],
    ['spans that are no list', { resourceSpans: [{ scopeSpans: [{ spans: {} }] }] }],
    ['a span that is no object', request([1 as unknown as object])],
    ['a time that is no number', request([{ startTimeUnixNano: 'soon' }])],
    ['a number of more than 64 bits', request([{ endTimeUnixNano: 1e300 }])],
    ['a time of more than 64 bits', request([{ startTimeUnixNano: '18446744073709551616' }])],
    ['an id that is no text', request([{ traceId: 1 }])],
    ['a status of no known code', request([{ status: { code: 'BAD' } }])],
  ])('refuses %s', (_, value) => {
    expect(whyNot(() => fromJson(value)).isTooLarge).toBe(false);
  });

  it.each<[string, Buffer]>([
    ['half of a request', encodeRequest(FULL).subarray(0, 100)],
    ['a group, as old protobuf had them', Buffer.from([0x0b, 0x0c])],
    ['the field of number 0', Buffer.from([0x02, 0x00])],
    ['a number without an end', Buffer.alloc(11, 0xff)],
    ['JSON', Buffer.from(JSON.stringify(FULL))],
  ])('refuses %s as protobuf', (_, body) => {
    expect(whyNot(() => [...protobufSpans(body)]).isTooLarge).toBe(false);
  });

  it('leaves out of a span what it has too much of', () => {
    const deep = (levels: number): object =>
      levels === 0 ? { intValue: '1' } : { arrayValue: { values: [deep(levels - 1)] } };
    const many = {
      traceId: TRACE,
      spanId: SPAN,
      attributes: [
        attribute('deep', deep(40)),
        ...Array.from({ length: 1_500 }, (_, at) => attribute(`a${at}`, { intValue: '1' })),
      ],
      events: Array.from({ length: 1_100 }, () => ({ name: 'e' })),
      links: Array.from({ length: 120 }, () => ({ traceId: TRACE })),
    };
    for (const spans of [[...protobufSpans(encodeRequest(request([many])))], fromJson(request([many]))]) {
      const [one] = spans;
      expect(one?.span.attributes.size).toBe(1_000);
      expect(one?.span.events).toHaveLength(1_000);
      expect(one?.span.links).toHaveLength(100);
      expect(one?.span.leftOut).toBe(1 + 501 + 100 + 20);
    }
  });

  it('leaves long texts out of a span, and refuses one that has far too much of everything', () => {
    const [long, short] = ['x'.repeat(8_000_000), 'y'.repeat(400_000)];
    const texts = [long, short, short, 'z'].map((text, at) => attribute(`a${at}`, { stringValue: text }));
    const sent = request([{ traceId: TRACE, spanId: SPAN, attributes: texts }]);
    for (const spans of [[...protobufSpans(encodeRequest(sent))], fromJson(sent)]) {
      expect(spans[0]?.span.leftOut).toBe(2);
      expect([...(spans[0]?.span.attributes.keys() ?? [])]).toEqual(['a0', 'a3']);
    }
    // attributes of two bytes each
    const many = Buffer.alloc(2 * 130_000, Buffer.from([0x4a, 0x00]));
    const inside = (body: Buffer): Buffer => {
      const length = [0x80 | (body.length & 0x7f), 0x80 | ((body.length >> 7) & 0x7f), body.length >> 14];
      return Buffer.concat([Buffer.from(length), body]);
    };
    const nested = [0x12, 0x12, 0x0a].reduce(
      (body, tag) => Buffer.concat([Buffer.from([tag]), inside(body)]),
      many,
    );
    expect(whyNot(() => [...protobufSpans(nested)]).isTooLarge).toBe(true);
  });

  const inMessages = (body: Buffer, ...fields: readonly number[]): Buffer =>
    fields.reduce((inner, field) => {
      const length = [0, 7, 14, 21].map((shift) => (inner.length >> shift) & 0x7f);
      return Buffer.concat([
        Buffer.from([field * 8 + 2, ...length.map((byte, at) => (at < 3 ? 0x80 | byte : byte))]),
        inner,
      ]);
    }, body);
  const NAME = [0x2a, 0x00];
  const UNKNOWN = [0xf8, 0x06, 0x00];

  it.each<[string, readonly number[], readonly number[]]>([
    ['names', NAME, [2, 2, 1]],
    ['ids', [0x0a, 0x00], [2, 2, 1]],
    ['fields that it does not know', UNKNOWN, [2, 2, 1]],
    ['statuses', [0x1a, 0x00], [15, 2, 2, 1]],
    ['fields of an attribute', NAME, [9, 2, 2, 1]],
    ['fields of a value', UNKNOWN, [2, 9, 2, 2, 1]],
    ['fields of an event', UNKNOWN, [11, 2, 2, 1]],
    ['fields of a scope', NAME, [1, 2, 1]],
    ['fields of a group of a scope', UNKNOWN, [2, 1]],
    ['fields of a resource', UNKNOWN, [1, 1]],
    ['fields of a group of a resource', UNKNOWN, [1]],
    ['fields of the request', UNKNOWN, []],
  ])('refuses far too many %s in one place', (_what, field, fields) => {
    const some = (count: number) =>
      inMessages(Buffer.alloc(count * field.length, Buffer.from(field)), ...fields);
    expect(() => [...protobufSpans(some(199_000))]).not.toThrow();
    expect(whyNot(() => [...protobufSpans(some(200_001))]).isTooLarge).toBe(true);
  });

  it('refuses far too long names in one span', () => {
    const name = inMessages(Buffer.alloc(60_000, 'x'), 5);
    expect(
      whyNot(() => [...protobufSpans(inMessages(Buffer.concat(Array(250).fill(name) as Buffer[]), 2, 2, 1))])
        .isTooLarge,
    ).toBe(true);
  });

  it('pauses within a request of many parts, with spans and without', () => {
    const many = (part: Buffer, count: number) => Buffer.concat(Array(count).fill(part) as Buffer[]);
    const fields = Buffer.alloc(3 * 1_000, Buffer.from(UNKNOWN));
    for (const [part, spans] of [
      [inMessages(fields, 1, 1), 0],
      [inMessages(fields, 1, 2, 1), 0],
      [inMessages(fields, 2, 2, 1), 1],
    ] as const) {
      const found = [...protobufSpans(many(part, 500))];
      expect(found.filter((one) => one !== undefined)).toHaveLength(500 * spans);
      // 50,000 fields each
      expect(found.filter((one) => one === undefined).length).toBeGreaterThan(7);
    }
  });

  it('refuses too many spans and groups as too large', () => {
    // two bytes each
    const scopes = Buffer.alloc(2 * 20_001, Buffer.from([0x12, 0x00]));
    const inScope = (length: number) =>
      Buffer.concat([
        Buffer.from([0x0a, 0x80 | (length & 0x7f), 0x80 | ((length >> 7) & 0x7f), length >> 14]),
      ]);
    const groups = Buffer.concat([inScope(scopes.length), scopes]);
    expect(whyNot(() => [...protobufSpans(groups)]).isTooLarge).toBe(true);
    expect(
      whyNot(() => [...protobufSpans(Buffer.alloc(2 * 20_001, Buffer.from([0x0a, 0x00])))]).isTooLarge,
    ).toBe(true);
    // a resource and a scope each, in a text that is parsed at once and in a longer one
    const list = Array(10_001).fill('{"scopeSpans":[{}]}').join(',');
    for (const space of ['', ' '.repeat(100_000)])
      expect(
        whyNot(() => [...jsonSpans(Buffer.from(`{"resourceSpans":[${list}${space}]}`))]).isTooLarge,
      ).toBe(true);
    const spans = request(Array.from({ length: 20_001 }, () => ({})));
    expect(whyNot(() => fromJson(spans)).isTooLarge).toBe(true);
    expect(whyNot(() => [...protobufSpans(encodeRequest(spans))]).isTooLarge).toBe(true);
  });

  it('reads or refuses whatever bytes come', () => {
    let state = 1;
    const draw = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
    const whole = encodeRequest(FULL);
    const json = Buffer.from(JSON.stringify(FULL));
    for (let round = 0; round < 3_000; round++) {
      const isJson = round % 3 === 0;
      const body = Buffer.from(isJson ? json : whole);
      for (let change = 0; change <= draw(4); change++) body[draw(body.length)] = draw(256);
      const cut = draw(4) === 0 ? body.subarray(0, draw(body.length)) : body;
      try {
        for (const received of isJson ? jsonSpans(cut) : protobufSpans(cut))
          if (received) atOnce(runOfSpan(received, 'p'));
      } catch (error) {
        if (!(error instanceof UnreadableRequestError)) throw error;
        expect(error.message.isWellFormed()).toBe(true);
      }
    }
  });
});

describe('a long request in JSON', () => {
  /** Text that is too long to be parsed at once. */
  const FILLER = 'x'.repeat(3_000);
  const ofSpans = (count: number, more: object = {}) => {
    const [{ resource, scopeSpans }] = FULL.resourceSpans as unknown as [
      { resource: object; scopeSpans: [{ scope: object; spans: [object] }] },
    ];
    const [{ scope, spans }] = scopeSpans;
    const some = Array.from({ length: count }, (_, at) => ({
      ...spans[0],
      name: `${at} ${FILLER}`,
      ...more,
    }));
    const groups = [some.slice(0, 3), [], some.slice(3)].map((each) => ({ scope, spans: each }));
    return { resourceSpans: [{ scopeSpans: null }, { resource, scopeSpans: groups }] };
  };

  it('reads the same as a short one, a span at a time', () => {
    const body = Buffer.from(JSON.stringify(ofSpans(200)));
    const parsed = jest.spyOn(JSON, 'parse');
    const found = [...jsonSpans(body)];
    const longest = Math.max(...parsed.mock.calls.map(([text]) => text.length));
    parsed.mockRestore();
    expect(longest).toBeLessThan(8_192);
    expect(found.filter((one) => one === undefined).length).toBeGreaterThan(body.length / 131_072);
    const spans = found.filter((one) => one !== undefined);
    expect(spans.map(({ place, span }) => [place.join('.'), span.name.split(' ')[0]])).toEqual(
      Array.from({ length: 200 }, (_, at) => [
        `resourceSpans.1.scopeSpans.${at < 3 ? 0 : 2}.spans.${at < 3 ? at : at - 3}`,
        String(at),
      ]),
    );
    const short = decoded(fromJson(ofSpans(4))) as { place: unknown }[];
    expect(decoded(spans.slice(0, 4))).toEqual(short);
  });

  it.each<[string, (text: string) => string, boolean]>([
    ['a text that ends too early', (text) => text.slice(0, -1), false],
    ['text behind it', (text) => `${text}x`, false],
    ['a comma too many', (text) => text.replace('}]', '},]'), false],
    ['spans that are no objects', (text) => text.replace('"spans":[]', '"spans":[1]'), false],
    ['groups that are no list', (text) => text.replace('"scopeSpans":null', '"scopeSpans":{}'), false],
    ['a resource that is no object', (text) => text.replace('"scopeSpans":null', '"resource":1'), false],
    ['a list of requests', (text) => `[${text}]`, false],
    ['too many spans', (text) => text.replace('"spans":[]', `"spans":[${'{},'.repeat(20_001)}{}]`), true],
    [
      'too many values of one span',
      (text) => text.replace('"spans":[]', `"spans":[{"x":[${'1,'.repeat(250_001)}1]}]`),
      true,
    ],
  ])('refuses %s', (_what, changed, isTooLarge) => {
    const text = changed(JSON.stringify(ofSpans(100)));
    expect(whyNot(() => [...jsonSpans(Buffer.from(text))]).isTooLarge).toBe(isTooLarge);
  });

  it('parses one long span in turns', () => {
    const attributes = [
      { key: 'a', value: { stringValue: 'y'.repeat(2_000_000) } },
      ...Array.from({ length: 500 }, (_, at) => ({ key: `${at}`, value: { stringValue: FILLER } })),
    ];
    const body = Buffer.from(JSON.stringify(ofSpans(1, { attributes })));
    const parsed = jest.spyOn(JSON, 'parse');
    const found = [...jsonSpans(body)].filter((one) => one !== undefined);
    const longest = Math.max(...parsed.mock.calls.map(([text]) => text.length));
    parsed.mockRestore();
    expect(longest).toBeLessThan(100_000);
    expect([...(found[0]?.span.attributes ?? [])]).toEqual(
      attributes.map(({ key, value }) => [key, value.stringValue]),
    );
  });

  it('takes the names of the protobuf definition, and of a name that stands twice the last', () => {
    const text = JSON.stringify(ofSpans(100)).replaceAll('scopeSpans', 'scope_spans');
    const twice = text.replace('"spans":[]', '"spans":[1],"spans":[]');
    expect([...jsonSpans(Buffer.from(twice))].filter((one) => one !== undefined)).toHaveLength(100);
  });
});
