import { inTurns, type JsonWalk } from '#lib/json';
import type { AttachmentLinks } from '../attachment/attachment-urls.js';
import { PAYLOAD_FIELDS, type PayloadField, type RunChildren, type StoredRun } from '#lib/trace-store';

type Row = StoredRun['row'];

/** A run that is answered, with its attachments where a field needs them. */
export interface ReadRun extends StoredRun {
  readonly attachments?: AttachmentLinks | undefined;
}

/**
 * A field of an answer: a value of the row, statistics, something of its attachments, or a payload whose stored bytes, or a
 * part of them, are put in.
 */
export type RunField =
  | { readonly of: (row: Row) => unknown }
  | { readonly stats: 'feedback' }
  | { readonly children: keyof RunChildren }
  | { readonly attached: (attachments: AttachmentLinks) => unknown }
  | { readonly payload: PayloadField; readonly part?: (bytes: Buffer) => JsonWalk<Buffer | undefined> };

/** The fields of a run on one of the wires, in the order in which they are answered. */
export type RunFields = ReadonlyMap<string, RunField>;

const NULL = Buffer.from('null');

/** Payloads that the fields need. */
export function payloadsOf(fields: RunFields): PayloadField[] {
  const wanted = new Set([...fields.values()].map((field) => 'payload' in field && field.payload));
  return PAYLOAD_FIELDS.filter((name) => wanted.has(name));
}

/** True when one of the fields is made of feedback. */
export function hasFeedback(fields: RunFields): boolean {
  return [...fields.values()].some((field) => 'stats' in field);
}

/** True when ids of the runs below are answered. */
export function hasChildren(fields: RunFields): boolean {
  return [...fields.values()].some((field) => 'children' in field);
}

const TOTALS = ['total', 'prompt', 'completion'].flatMap((kind) => [`${kind}_tokens`, `${kind}_cost`]);

/** True when tokens or costs are answered: those of parents are sums. */
export function hasTotals(fields: RunFields): boolean {
  return TOTALS.some((name) => fields.has(name));
}

/** Text that is printed before the value of each field. */
interface PrintedField {
  readonly head: string;
  readonly field: RunField;
}

const printed = new WeakMap<RunFields, readonly PrintedField[]>();

/** Names are quoted once for all runs of all answers with these fields. */
function printedFields(fields: RunFields): readonly PrintedField[] {
  const found = printed.get(fields);
  if (found) return found;
  const made = [...fields].map(([name, field], at) => ({
    head: `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`,
    field,
  }));
  printed.set(fields, made);
  return made;
}

/** A run on the wire. Payloads are put in as the bytes that are stored, whose JSON was checked when it came. */
export async function renderRun(run: ReadRun, fields: RunFields): Promise<Buffer> {
  const parts: Buffer[] = [];
  await printRun(run, fields, parts);
  return Buffer.concat(parts);
}

/** Adds the bytes of a run to `parts`, payloads without a copy: they are copied once, when the parts become the answer. */
export async function printRun(run: ReadRun, fields: RunFields, parts: Buffer[]): Promise<void> {
  const { row, payloads, feedbackStats, attachments, children } = run;
  let text = fields.size === 0 ? '{' : '';
  for (const { head, field } of printedFields(fields)) {
    text += head;
    if ('of' in field) text += printedValue(field.of(row));
    else if ('payload' in field) {
      const bytes = payloads[field.payload];
      if (!bytes) text += 'null';
      else if (field.payload === 'error') text += JSON.stringify(bytes.toString());
      else {
        // a part is looked for with turns for others
        parts.push(Buffer.from(text), field.part ? ((await inTurns(field.part(bytes))) ?? NULL) : bytes);
        text = '';
      }
    } else if ('children' in field) text += JSON.stringify(children?.[field.children] ?? null);
    else if ('stats' in field) text += feedbackStats ?? 'null';
    else text += JSON.stringify(attachments?.size ? field.attached(attachments) : null);
  }
  parts.push(Buffer.from(`${text}}`));
}

/** Value as JSON; most fields of most runs are empty. */
function printedValue(value: unknown): string {
  return value === null || value === undefined ? 'null' : JSON.stringify(value);
}
