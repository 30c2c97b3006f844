import { CHOSEN_SCOPES, type ChosenScope, KEY_SCOPES } from '#lib/auth';
import { type Command, command, optional, parsed, toggle } from '#lib/command-line';
import { parseDuration } from '#lib/time';
import { TARGET_OPTIONS } from '../context/target.js';
import { oneOf, parseCount } from '../parse-count.js';
import { OUTPUT_WORDS, parseOutputFormat } from '../output/print-items.js';
import { OUTPUT } from '../output/output-option.js';

const KEYS_OPTIONS = {
  workspace: optional(
    '-w, --workspace <name>',
    'the workspace; by default that of the key in use',
    'workspace',
  ),
  ...TARGET_OPTIONS,
};

const SCOPE_OPTION = {
  flags: '--scope <scope>',
  about: `what the key opens: ${CHOSEN_SCOPES.join(', ')}`,
  fallback: 'workspace' as ChosenScope,
  shownFallback: 'workspace',
  parse: oneOf(CHOSEN_SCOPES),
  completes: CHOSEN_SCOPES,
};

/** Dates end somewhere; nothing else is meant by the number. */
const LONGEST_DAYS = 36_500;

function parseLifetime(text: string): number {
  const lifetimeMs = parseDuration(text);
  if (lifetimeMs <= LONGEST_DAYS * 86_400_000) return lifetimeMs;
  throw new Error(`must be at most ${LONGEST_DAYS}d`);
}

/** `agentplane keys …`. */
export const KEY_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'keys list',
      about: 'list the keys in force; the keys themselves are stored nowhere',
      options: {
        all: toggle('--all', 'revoked keys, too'),
        scope: parsed('--scope <scope>', 'those of one scope', oneOf(KEY_SCOPES), KEY_SCOPES),
        limit: parsed('--limit <count>', 'so many of the newest; all by default', parseCount),
        ...KEYS_OPTIONS,
        output: OUTPUT,
      },
      examples: ['keys list', 'keys list --scope read --limit 10 -o wide', 'keys list --all -o yaml'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async (_words, flags) => (await import('./keys-command.js')).listKeys(flags),
  ),
  command(
    {
      words: 'keys create',
      about: 'make a key and print it, this once',
      arguments: [{ name: 'name', about: 'owner or purpose of the key' }],
      options: {
        scope: SCOPE_OPTION,
        expires: parsed(
          '--expires <duration>',
          'how long it is valid: 12h, 30d; by default it has no end',
          parseLifetime,
        ),
        ...KEYS_OPTIONS,
        output: parsed(
          '-o, --output <format>',
          `${OUTPUT_WORDS.join(', ')} or jsonpath=TEMPLATE, of the key and what is known of it; by default the key alone`,
          parseOutputFormat,
          OUTPUT.completes,
        ),
      },
      examples: [
        'keys create laptop',
        'keys create ci --workspace team-b',
        'keys create dashboard --scope read --expires 30d',
        'keys create ci -o json',
      ],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('./keys-command.js')).createKey(name, flags),
  ),
  command(
    {
      words: 'keys revoke',
      about: 'revoke a key',
      arguments: [
        {
          name: 'id',
          about: 'id of the key, see "keys list", or its name where one alone has it',
          completes: 'key',
        },
      ],
      options: KEYS_OPTIONS,
      examples: ['keys revoke 3f6C2a7eQw01', 'keys revoke laptop'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async ([id = ''], flags) => (await import('./keys-command.js')).revokeKey(id, flags),
  ),
];
