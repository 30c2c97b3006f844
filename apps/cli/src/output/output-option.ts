import type { OptionSpec } from '#lib/command-line';
import { OUTPUT_WORDS, type OutputFormat, parseOutputFormat } from './print-items.js';

/** `-o`, the same for every command that lists something. */
export const OUTPUT: OptionSpec<OutputFormat> = {
  flags: '-o, --output <format>',
  about: `${OUTPUT_WORDS.join(', ')} or jsonpath=TEMPLATE`,
  fallback: { kind: 'table' },
  shownFallback: 'table',
  completes: [...OUTPUT_WORDS, 'jsonpath='],
  parse: parseOutputFormat,
};
