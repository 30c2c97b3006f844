import type { OptionSpec } from '#lib/command-line';
import { OUTPUT_FORMATS, type OutputFormat } from './output-format.js';

/** `-o`, the same for every command that lists something. */
export const OUTPUT: OptionSpec<OutputFormat> = {
  flags: '-o, --output <format>',
  about: `${OUTPUT_FORMATS.join(', ')}`,
  fallback: 'table',
  shownFallback: 'table',
  completes: OUTPUT_FORMATS,
  parse: (text) => {
    const found = OUTPUT_FORMATS.find((format) => format === text);
    if (!found) throw new Error(`Allowed choices are ${OUTPUT_FORMATS.join(', ')}.`);
    return found;
  },
};
