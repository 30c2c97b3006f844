import type { LogLine } from '#lib/pod-logs';

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
