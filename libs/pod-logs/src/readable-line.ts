import { isJsonObject, type JsonObject, parseJson } from '#lib/json';

/** Fields of an entry that every line has, or that are shown by themselves. */
const SHOWN: ReadonlySet<string> = new Set([
  'level',
  'time',
  'msg',
  'program',
  'pid',
  'hostname',
  'agent',
  'err',
  'error',
]);

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function entryOf(line: string): JsonObject | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const entry = parseJson(line);
    return isJsonObject(entry) && typeof entry['msg'] === 'string' ? entry : undefined;
  } catch {
    return undefined;
  }
}

/**
 * One line for people of an entry that a program wrote as JSON: level, message, error, fields. Lines of other shapes are
 * answered as they are.
 */
export function readableLine(line: string): string {
  const entry = entryOf(line);
  if (!entry) return line;
  const { level, msg, agent, err, error } = entry;
  const thrown = isJsonObject(err) ? err['message'] : (err ?? error);
  const fields = Object.entries({ ...(isJsonObject(agent) ? agent : {}), ...entry })
    .filter(([name]) => !SHOWN.has(name))
    .map(([name, value]) => ` ${name}=${textOf(value)}`);
  const why = thrown === undefined ? '' : `: ${textOf(thrown)}`;
  return `${textOf(level ?? 'info').padEnd(5)} ${textOf(msg)}${why}${fields.join('')}`.replaceAll('\n', ' ');
}
