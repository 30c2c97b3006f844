import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { JsonObject } from '#lib/json';
import {
  builtinResource,
  customResource,
  normalized,
  Refused,
  Replay,
  type Step,
} from './testdata/replay.js';

interface Resource {
  readonly group?: string;
  readonly version: string;
  readonly plural: string;
}

interface Suite {
  readonly resource?: Resource;
  readonly crds?: readonly JsonObject[];
  readonly cases: readonly {
    readonly name: string;
    readonly resource?: Resource;
    readonly steps: readonly Step[];
  }[];
}

const folder = fileURLToPath(new URL('./testdata/cases/', import.meta.url));

/** Recorded by scripts/record-kubernetes-answers.mjs. */
type Answers = Readonly<Record<string, readonly JsonObject[]>>;

for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
  const suite = parse(readFileSync(join(folder, file), 'utf8')) as Suite;
  const answers = JSON.parse(
    readFileSync(join(folder, file.replace('.yaml', '.answers.json')), 'utf8'),
  ) as Answers;
  describe(`as the real API server: ${file.replace('.yaml', '')}`, () => {
    test.each(suite.cases.map((one) => [one.name, one] as const))('%s', (name, one) => {
      const replay = new Replay(resourceOf(suite, { ...suite.resource, ...one.resource } as Resource));
      const expected = (answers[name] ?? []).map(comparable);
      const actual = one.steps.map((step) => comparable(answerOf(replay, step)));
      expect(actual).toEqual(expected);
    });
  });
}

function resourceOf(suite: Suite, { group = '', version, plural }: Resource) {
  const crd = suite.crds?.find(
    ({ metadata }) => (metadata as { name: string }).name === `${plural}.${group}`,
  );
  return crd === undefined ? builtinResource(group, version, plural) : customResource(crd);
}

function answerOf(replay: Replay, step: Step): JsonObject {
  try {
    return { object: replay.perform(step) };
  } catch (thrown) {
    if (!(thrown instanceof Refused)) throw thrown;
    return { code: thrown.code, message: thrown.message, causes: thrown.causes };
  }
}

/**
 * Causes come in any order from Go's maps, some more than once, and so does a message of several. Kubernetes
 * does not report which step of a JSON patch failed; we do.
 */
function comparable(answer: JsonObject): unknown {
  if (answer['object'] !== undefined) return { object: normalized(answer['object']) };
  const { code, message, causes } = answer;
  if (causes === undefined && code === 422) return { code };
  const sorted = new Set((Array.isArray(causes) ? causes : []).map(sortedJson));
  const said = sorted.size > 1 ? [] : [String(message)];
  return { code, causes: [...sorted].toSorted(), said };
}

function sortedJson(value: unknown): string {
  return JSON.stringify(Object.entries(value as object).toSorted());
}
