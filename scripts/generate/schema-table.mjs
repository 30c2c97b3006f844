// Tables of fields, from the schema of a kind.

const UUID = '^[0-9a-fA-F]{8}-';

/** Text for a cell of a table. */
export function cell(text) {
  return String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function quoted(value) {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

function range(min, max, unit) {
  if (min === undefined && max === undefined) return [];
  if (min === undefined) return [`at most ${max}${unit}`];
  return [max === undefined ? `at least ${min}${unit}` : `${min} to ${max}${unit}`];
}

function limits(schema) {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, maxProperties, pattern } = schema;
  const isUuid = pattern?.startsWith(UUID);
  return [
    ...(schema.enum ? [`one of ${schema.enum.map(quoted).join(', ')}`] : []),
    ...range(minimum, maximum, ''),
    ...(isUuid ? ['a uuid'] : range(minLength, maxLength, ' characters')),
    ...range(minItems, maxItems, ' items'),
    ...range(undefined, maxProperties, ' entries'),
    ...(schema['x-kubernetes-list-type'] === 'set' ? ['no item twice'] : []),
    ...(schema['x-kubernetes-list-type'] === 'map'
      ? [`unique by ${schema['x-kubernetes-list-map-keys'].map(quoted).join(', ')}`]
      : []),
    ...(pattern && !isUuid ? [`matches ${quoted(pattern)}`] : []),
  ];
}

/** Fields that are a pod's own have no descriptions: those of Kubernetes hold. */
export function isOfPod({ properties, items, description }) {
  const fields = Object.values(properties ?? items?.properties ?? {});
  return description !== undefined && fields.length > 0 && fields.every((field) => !field.description);
}

/** A shape with few plain fields is shown where it is used. */
function isSmall(schema) {
  const fields = Object.values(schema.properties ?? {});
  return fields.length <= 6 && fields.every(({ type }) => type !== 'object' && type !== 'array');
}

/**
 * Shapes with a `title` get a table of their own on the first page that needs them; other pages link there.
 */
export class Shapes {
  #pages = new Map();

  /** Where the shape is described; this page when it is not described yet. */
  pageOf(title, page) {
    if (!this.#pages.has(title)) this.#pages.set(title, page);
    return this.#pages.get(title);
  }
}

/** The tables of one schema: its own, then those of the shapes that it brings. */
export class SchemaTables {
  #shapes;
  #page;
  #waiting = [];
  #done = new Set();
  /** Rules of an outer schema about fields of a shape: title → messages without the way to it. */
  #handedDown = new Map();

  constructor(shapes, page) {
    this.#shapes = shapes;
    this.#page = page;
  }

  /** @returns the table of the schema's fields, with the rules that speak of several */
  table(schema) {
    const rows = new Map();
    const others = [];
    this.#collect(schema, '', rows, others, false);
    for (const message of this.#handedDown.get(schema.title) ?? []) this.#place(message, '', rows, others);
    const lines = [...rows].map(([path, row]) => {
      const rules = [...row.rules, ...row.messages].join('; ');
      return `| \`${path}\` | ${row.type} | ${row.default} | ${cell(rules)} | ${cell(row.about)} |`;
    });
    const head = '| field | type | default | rules | description |\n|---|---|---|---|---|\n';
    const list =
      others.length > 0
        ? `\nRules over several fields:\n\n${others.map((text) => `- ${text}\n`).join('')}`
        : '';
    return `${head}${lines.join('\n')}\n${list}`;
  }

  /** Tables of the shapes that the tables so far refer to, with headings. */
  shapes() {
    let text = '';
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      if (this.#done.has(next.title)) continue;
      this.#done.add(next.title);
      text += `\n### ${next.title}\n\n${next.description ?? ''}\n\n${this.table(next)}`;
    }
    return text;
  }

  #collect(schema, prefix, rows, others, isInner) {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      const path = prefix + name;
      const shape = this.#linkedShape(field);
      rows.set(path, {
        shape: shape?.title,
        type: this.#type(field),
        default: field.default === undefined ? '' : quoted(field.default),
        rules: [
          ...(schema.required?.includes(name) ? [isInner ? 'required in it' : 'required'] : []),
          ...limits(field),
          ...(field.items ? limits(field.items).map((limit) => `each ${limit}`) : []),
          ...(typeof field.additionalProperties === 'object'
            ? limits(field.additionalProperties).map((limit) => `each ${limit}`)
            : []),
        ],
        messages: [],
        about: field.description ?? '',
      });
      if (isOfPod(field)) continue;
      if (!shape && field.properties) this.#collect(field, `${path}.`, rows, others, true);
      if (!shape && field.items?.properties) this.#collect(field.items, `${path}[].`, rows, others, true);
    }
    for (const { message, rule } of schema['x-kubernetes-validations'] ?? [])
      this.#place(message ?? rule, prefix, rows, others);
  }

  /** A message that begins with the name of a field belongs to that field. */
  #place(message, prefix, rows, others) {
    const [, path] = /^([A-Za-z][A-Za-z.]*) (is|must|cannot) /.exec(message) ?? [];
    const shape = path?.includes('.') ? rows.get(prefix + path.split('.', 1)[0])?.shape : undefined;
    if (shape) {
      const inner = message.slice(message.indexOf('.') + 1);
      this.#handedDown.set(shape, [...(this.#handedDown.get(shape) ?? []), inner]);
      return;
    }
    const row = path === undefined ? undefined : rows.get(prefix + path);
    const messages = row ? row.messages : others;
    const text = row ? message.slice(path.length + 1) : message;
    if (!messages.includes(text)) messages.push(text);
  }

  #type(field) {
    if (isOfPod(field)) return field.type === 'array' ? 'list, as in a pod' : 'object, as in a pod';
    if (field.type === 'array') return `list of ${this.#type(field.items)}`;
    if (typeof field.additionalProperties === 'object')
      return `map to ${this.#type(field.additionalProperties)}`;
    if (this.#linkedShape(field)) return this.#link(field);
    return field.format === 'date-time' ? 'time' : field.type;
  }

  /** The shape of a field, or of the items of a list, that has a table of its own. */
  #linkedShape(field) {
    const shape = field.items ?? field;
    return shape.title && shape.properties && !isSmall(shape) ? shape : undefined;
  }

  #link(field) {
    const page = this.#shapes.pageOf(field.title, this.#page);
    if (page === this.#page) this.#waiting.push(field);
    return `[${field.title}](${page === this.#page ? '' : page}#${field.title.toLowerCase()})`;
  }
}
