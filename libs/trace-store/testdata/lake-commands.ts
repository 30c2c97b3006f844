import fc from 'fast-check';

export type Texts = Readonly<Record<string, string>>;

/** A change of what is stored, with the model. */
export type Change =
  | { readonly kind: 'post'; readonly day: number; readonly isShort: boolean; readonly payloads: Texts }
  | { readonly kind: 'patch'; readonly run: number; readonly payloads: Texts; readonly tag: number }
  | { readonly kind: 'post again'; readonly run: number; readonly payloads: Texts }
  | { readonly kind: 'upgrade'; readonly run: number }
  | { readonly kind: 'erase'; readonly run: number };

/** A step of the sealer, counted from its beginning, before which it dies, or something else happens. */
export interface Interruption {
  readonly step: number;
  readonly change: Change | undefined;
}

export type Command =
  | Change
  | {
      readonly kind: 'seal';
      readonly fileBytes: number | undefined;
      readonly interruption: Interruption | undefined;
    }
  | { readonly kind: 'hurry' | 'tidy' | 'back up' | 'restore' };

const text = fc.oneof(
  fc.constantFrom('""', '{}', '"\\u0000"'),
  fc.integer({ min: 0, max: 9 }).map((n) => `{"n": ${n}}`),
  fc.integer({ min: 1, max: 40 }).map((n) => JSON.stringify({ long: `text ${n} `.repeat(n * 200) })),
);
const payloads = fc.dictionary(fc.constantFrom('inputs', 'outputs', 'events', 'serialized'), text, {
  maxKeys: 3,
});
const run = fc.nat({ max: 30 });
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('post' as const),
      day: fc.nat({ max: 1 }),
      isShort: fc.boolean(),
      payloads,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('patch' as const), run, payloads, tag: fc.nat({ max: 2 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('post again' as const), run, payloads }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('upgrade' as const), run }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('erase' as const), run }) },
);
const interruption = fc.record({
  step: fc.nat({ max: 60 }),
  change: fc.option(change, { nil: undefined }),
});
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: change },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('seal' as const),
      // a file for each run, or one for all
      fileBytes: fc.constantFrom(1, undefined),
      interruption: fc.option(interruption, { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('hurry' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('tidy' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('back up' as const, 'restore' as const) }) },
);

/** Commands after some changes, before which nothing is sealed. */
export const sequences = fc.record({
  first: fc.array(change, { minLength: 4, maxLength: 8 }),
  commands: fc.array(command, { minLength: 6, maxLength: 12 }),
  endsWithProject: fc.boolean(),
});
export type Sequence = typeof sequences extends fc.Arbitrary<infer T> ? T : never;
