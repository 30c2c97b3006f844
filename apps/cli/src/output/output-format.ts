/** Output format of a command. */
export type OutputFormat =
  | { readonly kind: 'table' }
  | { readonly kind: 'wide' }
  | { readonly kind: 'json' }
  | { readonly kind: 'yaml' }
  | { readonly kind: 'name' }
  | { readonly kind: 'jsonpath'; readonly template: string };

/** Formats that are one word; `jsonpath=TEMPLATE` is the other. */
export const OUTPUT_WORDS = ['table', 'wide', 'json', 'yaml', 'name'] as const;

/** @throws Error that lists the formats */
export function parseOutputFormat(text: string): OutputFormat {
  const word = OUTPUT_WORDS.find((one) => one === text);
  if (word !== undefined) return { kind: word };
  const template = /^jsonpath=(.+)$/s.exec(text)?.[1];
  if (template !== undefined) return { kind: 'jsonpath', template };
  throw new Error(`Allowed choices are ${OUTPUT_WORDS.join(', ')}, jsonpath=TEMPLATE.`);
}
