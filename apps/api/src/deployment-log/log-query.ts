import { ValidateBy } from 'class-validator/cjs/decorator/common/ValidateBy.js';
import { lineTime, type LogLine } from '#lib/pod-logs';
import { parseDuration } from '#lib/time';
import { field, says, Text } from '../wire/fields.js';
import { QueryFlag, QueryWhole } from '../wire/query-flag.js';

/** One line of an answer. */
export type LogRecord =
  | { readonly kind: 'line'; readonly line: LogLine }
  /** A remark on the lines: some could not be read, or the reason why none exist. */
  | { readonly kind: 'note'; readonly message: string }
  /** Nothing was printed for a while, and the answer continues. */
  | { readonly kind: 'heartbeat' };

/** Format of the records in the answer. */
export interface LogFormat {
  readonly contentType: string;
  /** A record with its line end; empty for one that this format does not show. */
  render(record: LogRecord): string;
}

/** One JSON object a line, with a `type`. */
export const JSON_LINES: LogFormat = {
  contentType: 'application/x-ndjson; charset=utf-8',
  render: (record) => `${JSON.stringify(jsonOf(record))}\n`,
};

/** `TIME POD CONTAINER TEXT`; notes begin with `#`. */
export const PLAIN_TEXT: LogFormat = {
  contentType: 'text/plain; charset=utf-8',
  render(record) {
    switch (record.kind) {
      case 'line': {
        const { time, pod, container, text, cutBytes } = record.line;
        const cut = cutBytes === undefined ? '' : ` [${cutBytes} bytes cut]`;
        return `${time === '' ? '-' : time} ${pod} ${container} ${text}${cut}\n`;
      }
      case 'note':
        return `# ${record.message}\n`;
      case 'heartbeat':
        return '';
      default:
        return record satisfies never;
    }
  },
};

/** Plain text for clients that prefer it, else JSON lines. */
export function formatFor(accept: string | undefined): LogFormat {
  const wanted = (accept ?? '').split(',').map((range) => range.split(';')[0]?.trim().toLowerCase());
  const text = wanted.indexOf('text/plain');
  const json = wanted.findIndex((type) => type === 'application/x-ndjson' || type === 'application/json');
  return text !== -1 && (json === -1 || text < json) ? PLAIN_TEXT : JSON_LINES;
}

function jsonOf(record: LogRecord): object {
  switch (record.kind) {
    case 'line': {
      const { time, pod, container, text, cutBytes } = record.line;
      const cut = cutBytes === undefined ? {} : { cut_bytes: cutBytes };
      return { type: 'line', time: time === '' ? null : time, pod, container, text, ...cut };
    }
    case 'note':
      return { type: 'note', message: record.message };
    case 'heartbeat':
      return { type: 'heartbeat' };
    default:
      return record satisfies never;
  }
}

const DEFAULT_TAIL = 1_000;
const MAX_TAIL = 10_000;
const SINCE = 'Input should be a duration (30s, 10m, 2h) or an RFC 3339 time';

/**
 * The time from which lines are requested, in the form of `lineTime`.
 * @returns undefined for a text that is neither a duration nor a time
 */
export function parseSince(text: string, now: Date): string | undefined {
  const time = lineTime(text);
  if (time !== undefined) return time;
  try {
    const at = new Date(now.getTime() - parseDuration(text));
    return Number.isNaN(at.getTime()) ? undefined : lineTime(at.toISOString());
  } catch {
    return undefined;
  }
}

function Since(): PropertyDecorator {
  const validate = (value: unknown): boolean =>
    typeof value === 'string' && value.length <= 64 && parseSince(value, new Date(0)) !== undefined;
  return field(
    { about: 'Lines of this time and later: a duration before now (`10m`) or an RFC 3339 time' },
    { type: String, maxLength: 64 },
    ValidateBy({ name: 'isSince', validator: { validate } }, says(SINCE, 'value_error')),
  );
}

/** Query of the routes that answer logs. */
export class LogsQuery {
  @QueryWhole({ min: 0, max: MAX_TAIL, fallback: DEFAULT_TAIL, about: 'Last lines of all pods together' })
  tail: number = DEFAULT_TAIL;

  @QueryFlag({ about: 'Goes on with what is printed from now on' })
  follow?: boolean;

  @Since()
  since?: string;

  @Text({ maxLength: 63, about: 'Name of a container; all of them without' })
  container?: string;

  @Text({ maxLength: 253, about: 'Name of a pod; all of them without' })
  pod?: string;

  @QueryFlag({ about: 'What containers printed before their last restart' })
  previous?: boolean;
}
