import { Type } from 'class-transformer';
import { ValidateBy } from 'class-validator/cjs/decorator/common/ValidateBy.js';
import { lineTime } from '#lib/pod-logs';
import { parseDuration } from '#lib/time';
import { field, says, Text, Whole } from '../wire/fields.js';
import { QueryFlag } from '../wire/query-flag.js';

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
  @Whole({ min: 0, max: MAX_TAIL, fallback: DEFAULT_TAIL, about: 'Last lines of all pods together' })
  @Type(() => Number)
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
