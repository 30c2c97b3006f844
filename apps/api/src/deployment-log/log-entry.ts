import { Answered, listOf, orNull, TEXT, words } from '../wire/shape.js';
import { Choice, Text, Whole } from '../wire/fields.js';

/** From the least severe on. */
export const LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const;

/** Body of the routes that answer entries. */
export class LogEntriesRequest {
  @Choice(['asc', 'desc'], { about: 'Oldest or newest first; newest when absent' })
  order?: 'asc' | 'desc' | null;

  @Whole({ min: 1, max: 10_000, about: 'Most entries of an answer; 100 when absent' })
  limit?: number | null;

  @Text({ maxLength: 256, about: 'next_offset of the answer before' })
  offset?: string | null;

  @Choice(LEVELS, { about: 'Least level' })
  level?: (typeof LEVELS)[number] | null;

  @Text({ maxLength: 1_000, about: 'Text that entries contain, in any case of letters' })
  query?: string | null;

  @Text({ maxLength: 64, about: 'Entries of this time and later: an RFC 3339 time' })
  start_time?: string | null;

  @Text({ maxLength: 64, about: 'Entries of this time and earlier: an RFC 3339 time' })
  end_time?: string | null;
}

/** A line, or the reason why nothing serves. */
export class LogEntry {
  @Answered(TEXT, 'Stays the same in every answer') readonly id: string;
  @Answered(TEXT, 'RFC 3339, in UTC') readonly timestamp: string;
  @Answered(words(LEVELS), 'The level that the line names; INFO otherwise')
  readonly level: (typeof LEVELS)[number];

  @Answered(TEXT) readonly message: string;
  @Answered(orNull(TEXT)) readonly pod: string | null;
  @Answered(orNull(TEXT)) readonly container: string | null;
}

export class LogEntriesAnswer {
  @Answered(listOf(() => LogEntry)) readonly logs: readonly LogEntry[];
  @Answered(orNull(TEXT), 'What to send as offset for the entries after these') readonly next_offset:
    string | null;
}
