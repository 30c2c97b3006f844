import { isJsonObject } from '#lib/json';
import { own } from '../object/reading.js';

type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  | {
      readonly kind: 'filter';
      readonly path: readonly Step[];
      readonly isEqual: boolean;
      readonly value: unknown;
    };

/** The subset of JSONPath that printer columns use. */
export interface JsonPath {
  /** Every value the path leads to, in order. */
  find(value: unknown): readonly unknown[];
}

const TOKEN =
  /\.?\['((?:[^'\\]|\\.)*)'\]|\[\?\(@((?:\.[\w-]+)+)\s*(==|!=)\s*("[^"]*"|'[^']*'|[\w.-]+)\)\]|\[(-?\d+)\]|\[\*\]|\.\*|\.((?:[^.[\\\]]|\\.)+)/gy;

/** Parses `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`; undefined when it is something else. */
export function parseJsonPath(text: string): JsonPath | undefined {
  const steps = parseSteps(text);
  return steps && { find: (value) => walk([value], steps) };
}

function parseSteps(text: string): readonly Step[] | undefined {
  const steps: Step[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (!match) return undefined;
    steps.push(stepOf(match));
  }
  return steps;
}

function stepOf([token, quoted, filterPath, operator, value, index, name]: RegExpExecArray): Step {
  if (quoted !== undefined) return { kind: 'field', name: unescape(quoted) };
  if (filterPath !== undefined) {
    const path = filterPath
      .slice(1)
      .split('.')
      .map((part): Step => ({ kind: 'field', name: part }));
    return { kind: 'filter', path, isEqual: operator === '==', value: literal(value ?? '') };
  }
  if (index !== undefined) return { kind: 'index', index: Number(index) };
  if (name !== undefined && token !== '.*') return { kind: 'field', name: unescape(name) };
  return { kind: 'all' };
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/g, '$1');
}

function literal(text: string): unknown {
  if (/^["']/.test(text)) return text.slice(1, -1);
  if (text === 'true' || text === 'false') return text === 'true';
  return Number.isNaN(Number(text)) ? text : Number(text);
}

function walk(values: readonly unknown[], steps: readonly Step[]): readonly unknown[] {
  return steps.reduce<readonly unknown[]>((here, step) => here.flatMap((value) => take(value, step)), values);
}

function take(value: unknown, step: Step): readonly unknown[] {
  switch (step.kind) {
    case 'field':
      return isJsonObject(value) && own(value, step.name) !== undefined ? [own(value, step.name)] : [];
    case 'index':
      return Array.isArray(value) && value.at(step.index) !== undefined
        ? [value.at(step.index) as unknown]
        : [];
    case 'all':
      if (Array.isArray(value)) return value;
      return isJsonObject(value) ? Object.values(value) : [];
    case 'filter':
      if (!Array.isArray(value)) return [];
      return value.filter((item) => (walk([item], step.path)[0] === step.value) === step.isEqual);
  }
}
