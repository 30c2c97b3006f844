import { renderTable, visibleText } from '#lib/command-line';
import { humanDuration } from '#lib/kube-semantics';
import type { Untyped } from '#lib/kube';
import { type Condition, idOf, type KubeEvent } from '#lib/resources';
import { stringify } from 'yaml';

const INDENT = '  ';

/** Everything about one object for people: what it is, what was asked for, what was found, and what happened to it. */
export function renderDescription(object: Untyped, events: readonly KubeEvent[], now: Date): string {
  const { metadata, status } = object;
  const { conditions, ...facts } = isRecord(status) ? status : {};
  const { apiVersion: _version, kind, metadata: _metadata, status: _status, ...rest } = object;
  const description = [
    fields([
      ['Name', metadata.name],
      ['Namespace', metadata.namespace],
      ['Kind', kind],
      ['ID', idOf(object)],
      ['Created', `${ageText(metadata.creationTimestamp, now)} ago (${metadata.creationTimestamp ?? ''})`],
      ['Deleting', metadata.deletionTimestamp && `for ${ageText(metadata.deletionTimestamp, now)}`],
      ['Labels', pairs(metadata.labels)],
    ]),
    ...Object.entries(rest).map(([name, value]) =>
      section(name, kind === 'Secret' && isRecord(value) ? sizesOf(value) : value),
    ),
    section('status', facts),
    isConditions(conditions) ? block('Conditions', conditionTable(conditions, now)) : '',
    block('Events', eventTable(events, now)),
  ].join('');
  return visibleText(description);
}

function fields(lines: readonly (readonly [string, string | undefined])[]): string {
  return lines
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${`${name}:`.padEnd(12)}${value}\n`)
    .join('');
}

function pairs(labels: Readonly<Record<string, string>> = {}): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

/** One top-level field as YAML. */
function section(name: string, value: unknown): string {
  if (value === undefined || (isRecord(value) && Object.keys(value).length === 0)) return '';
  const title = name.charAt(0).toUpperCase() + name.slice(1);
  return isRecord(value) || Array.isArray(value)
    ? block(title, stringify(value))
    : fields([[title, String(value)]]);
}

function block(title: string, text: string): string {
  return `${title}:\n${text.replaceAll(/^(?=.)/gm, INDENT)}`;
}

/** Sizes of a Secret's values: the values are secret, their sizes may be shown. */
function sizesOf(data: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      `${Buffer.from(typeof value === 'string' ? value : '', 'base64').length} bytes`,
    ]),
  );
}

function conditionTable(conditions: readonly Condition[], now: Date): string {
  return renderTable(
    ['TYPE', 'STATUS', 'REASON', 'AGE', 'MESSAGE'],
    conditions.map(({ type, status, reason, lastTransitionTime, message = '' }) => [
      type,
      status,
      reason ?? '',
      ageText(lastTransitionTime, now),
      message,
    ]),
  );
}

function eventTable(events: readonly KubeEvent[], now: Date): string {
  if (events.length === 0) return '<none>\n';
  const inOrder = [...events].sort((a, b) => timeOf(a).localeCompare(timeOf(b)));
  return renderTable(
    ['AGE', 'TYPE', 'REASON', 'COUNT', 'MESSAGE'],
    inOrder.map((event) => [
      ageText(timeOf(event), now),
      event.type ?? '',
      event.reason ?? '',
      String(event.count ?? 1),
      event.message ?? '',
    ]),
  );
}

function timeOf({ lastTimestamp, firstTimestamp, metadata }: KubeEvent): string {
  return lastTimestamp ?? firstTimestamp ?? metadata.creationTimestamp ?? '';
}

function ageText(time: string | undefined, now: Date): string {
  const at = Date.parse(time ?? '');
  return Number.isNaN(at) ? '<unknown>' : humanDuration(Math.max(0, now.getTime() - at));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isConditions(value: unknown): value is readonly Condition[] {
  return Array.isArray(value) && value.every((one) => isRecord(one) && typeof one['type'] === 'string');
}
