import { type Command, command, optional, parsed, repeated, toggle } from '#lib/command-line';
import { parseDuration } from '#lib/time';
import { TARGET_OPTIONS } from '../context/target.js';
import { parseTime } from '../parse-count.js';
import { OUTPUT } from '../output/output-option.js';

const PER_MILLION = /^\d{1,9}(\.\d{1,9})?$/;

function parseDollars(text: string): string {
  if (PER_MILLION.test(text)) return text;
  throw new Error('must be dollars for a million tokens, such as 2.5');
}

function parseKind(text: string): string {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new Error('must look like cache_read=0.3');
  return `${text.slice(0, at)}=${parseDollars(text.slice(at + 1))}`;
}

const EXITS = ['notFound', 'unreachable', 'refused'] as const;

/** `agentplane prices …`. */
export const PRICE_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'prices list',
      about: 'list the prices by which runs get their costs, in dollars for a million tokens',
      options: {
        search: optional('--search <text>', 'those whose name, pattern or provider contain it'),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: ['prices list', 'prices list --search gpt-4o -o wide'],
      exits: EXITS,
      needs: 'rest',
    },
    async (_words, flags) => (await import('./prices-command.js')).listPrices(flags),
  ),
  command(
    {
      words: 'prices unmatched',
      about: 'list models whose runs have tokens and no cost',
      options: {
        project: optional('--project <project>', 'tracing project, by name or id; all by default', 'project'),
        last: parsed(
          '--last <duration>',
          'runs that began so long ago or later; 24h by default',
          parseDuration,
        ),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: ['prices unmatched', 'prices unmatched --project sample-agent --last 7d'],
      exits: EXITS,
      needs: 'rest',
    },
    async (_words, flags) => (await import('./prices-command.js')).listUnmatched(flags),
  ),
  command(
    {
      words: 'prices set',
      about: 'add a price, or replace that of the same name, provider and start',
      arguments: [{ name: 'name', about: 'name of the price; without --pattern the model that it is of' }],
      options: {
        input: parsed('--input <dollars>', 'for a million tokens of the prompt', parseDollars),
        completion: parsed('--completion <dollars>', 'for a million tokens of the completion', parseDollars),
        inputKind: repeated(
          '--input-kind <kind=dollars>',
          'for tokens of the prompt of this kind',
          parseKind,
        ),
        completionKind: repeated(
          '--completion-kind <kind=dollars>',
          'for tokens of the completion of this kind',
          parseKind,
        ),
        pattern: optional('--pattern <re2>', 'models that it is of; by default the one of the name'),
        provider: optional('--provider <name>', 'runs of this provider alone'),
        from: parsed(
          '--from <time>',
          'runs that began then or later, RFC 3339, UTC without a zone',
          parseTime,
        ),
        ...TARGET_OPTIONS,
      },
      examples: [
        'prices set house-large --input 2.5 --completion 10 --input-kind cache_read=0.25',
        'prices set "our gpt-4o" --pattern "^gpt-4o(-.*)?$" --provider azure --input 2 --completion 8',
      ],
      exits: EXITS,
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('./prices-command.js')).setPrice(name, flags),
  ),
  command(
    {
      words: 'prices remove',
      about: 'delete a price; one of the platform is disabled instead',
      arguments: [{ name: 'id', about: 'id of the price, see "prices list -o wide"', completes: 'price' }],
      options: TARGET_OPTIONS,
      examples: ['prices remove 0197e0c5-2b0c-7e51-9d3a-3f0c8a3b2d10'],
      exits: EXITS,
      needs: 'rest',
    },
    async ([id = ''], flags) => (await import('./prices-command.js')).removePrice(id, flags),
  ),
  command(
    {
      words: 'prices apply',
      about: 'price stored runs of a tracing project again, but those whose senders gave a cost',
      arguments: [{ name: 'project', about: 'tracing project, by name or id', completes: 'project' }],
      options: {
        from: parsed(
          '--from <time>',
          'runs that began then or later, RFC 3339, UTC without a zone',
          parseTime,
        ),
        to: parsed('--to <time>', 'runs that began before, RFC 3339, UTC without a zone', parseTime),
        wait: toggle('--no-wait', 'do not wait until it has ended'),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: ['prices apply sample-agent', 'prices apply sample-agent --from 2026-11-01 --no-wait'],
      exits: EXITS,
      needs: 'rest',
    },
    async ([project = ''], flags) => (await import('./prices-command.js')).applyPrices(project, flags),
  ),
];
