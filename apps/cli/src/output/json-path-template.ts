import { type JsonPath, parseJsonPath } from '#lib/kube-semantics';
import { CommandError } from '../command-error.js';

type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'path'; readonly path: JsonPath }
  | { readonly kind: 'range'; readonly path: JsonPath; readonly body: readonly Part[] };

/**
 * A template in the dialect of `kubectl -o jsonpath`: text outside of braces, `{.path}`, `{"text"}`, and
 * `{range .path}…{end}`. A template without braces is one path. Several values are separated by blanks, objects are
 * JSON, and nothing is added at the end.
 * @throws CommandError `usage` that quotes the malformed part
 */
export function renderJsonPath(template: string, value: unknown): string {
  const parts = parseTemplate(template.includes('{') ? template : `{${template}}`);
  return render(parts, value);
}

function render(parts: readonly Part[], value: unknown): string {
  return parts
    .map((part) => {
      switch (part.kind) {
        case 'text':
          return part.text;
        case 'path':
          return part.path.find(value).map(textOf).join(' ');
        case 'range':
          return part.path
            .find(value)
            .map((item) => render(part.body, item))
            .join('');
        default:
          return part satisfies never;
      }
    })
    .join('');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Texts and the insides of braces alternately; a brace inside of quotes ends nothing. */
const TOKEN = /\{((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^{}"'])*)\}|([^{]+)/gy;

function parseTemplate(template: string): readonly Part[] {
  const open: { readonly path: JsonPath | undefined; readonly body: Part[] }[] = [
    { path: undefined, body: [] },
  ];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < template.length) {
    const start = TOKEN.lastIndex;
    const match = TOKEN.exec(template);
    if (!match) throw unreadable(template, template.slice(start));
    const [, inside, text] = match;
    const body = open.at(-1)?.body ?? [];
    if (inside === undefined) {
      body.push({ kind: 'text', text: text ?? '' });
      continue;
    }
    const word = inside.trim();
    if (word === 'end') {
      const ended = open.length > 1 ? open.pop() : undefined;
      if (ended?.path === undefined) throw unreadable(template, '{end} without {range}');
      open.at(-1)?.body.push({ kind: 'range', path: ended.path, body: ended.body });
    } else if (word.startsWith('range ')) {
      open.push({ path: pathOf(template, word.slice('range '.length)), body: [] });
    } else body.push(literalOf(word) ?? { kind: 'path', path: pathOf(template, word) });
  }
  if (open.length > 1) throw unreadable(template, '{range} without {end}');
  return open[0]?.body ?? [];
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

function literalOf(word: string): Part | undefined {
  const inside = /^(["'])(.*)\1$/s.exec(word)?.[2];
  if (inside === undefined) return undefined;
  return { kind: 'text', text: inside.replaceAll(/\\(.)/g, (_, one: string) => ESCAPES[one] ?? one) };
}

function pathOf(template: string, text: string): JsonPath {
  const path = text.trim().replace(/^[$@]/, '');
  // `{}` and `{.}` are the whole value; a path may leave out its first dot
  if (path === '' || path === '.') return { find: (value) => [value] };
  const found = parseJsonPath(/^[.[]/.test(path) ? path : `.${path}`);
  if (!found) throw unreadable(template, `{${text}}`);
  return found;
}

function unreadable(template: string, part: string): CommandError {
  return new CommandError(
    'usage',
    `the jsonpath template ${template} cannot be read at ${part}: supported are {.a.b}, {[0]}, {[*]}, {[?(@.a=="b")]}, {"text"}, {range .a[*]}…{end}`,
  );
}
