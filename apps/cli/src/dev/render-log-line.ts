import { isJsonObject, type JsonObject } from '#lib/json';
import { codeFrame } from './code-frame.js';

function parse(line: string): JsonObject | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    return isJsonObject(entry) && typeof entry['msg'] === 'string' ? entry : undefined;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Fields that the agent handed to its logger, or those of a line beside its message. */
function fieldsOf({ agent, error, err, ...entry }: JsonObject): string {
  const thrown = isJsonObject(err) ? (err['message'] ?? '') : error;
  const fields = isJsonObject(agent) ? agent : {};
  const ids = entry['run_id'] === undefined ? {} : { run: entry['run_id'] };
  const shown = Object.entries({ ...fields, ...ids }).map(([name, value]) => `${name}=${textOf(value)}`);
  return [
    ...(thrown === undefined ? [] : [`: ${textOf(thrown)}`]),
    ...shown.map((field) => ` ${field}`),
  ].join('');
}

/**
 * A line of the agent server's log for people; undefined for those about its own work. An error is shown with the lines
 * of the agent's that it comes from.
 */
export function renderLogLine(line: string, folder: string): string | undefined {
  const entry = parse(line);
  if (!entry) return line;
  const level = String(entry['level']);
  if (entry['agent'] === undefined && level !== 'warn' && level !== 'error') return undefined;
  const { err } = entry;
  const stack = isJsonObject(err) ? textOf(err['stack'] ?? '') : '';
  const frame = codeFrame(stack, folder);
  return `${level.padEnd(5)} ${textOf(entry['msg'])}${fieldsOf(entry)}${frame === undefined ? '' : `\n${frame}`}`;
}
