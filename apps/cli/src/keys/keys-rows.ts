import { type Command, command, optional, toggle } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { OUTPUT } from '../output/output-option.js';

const KEYS_OPTIONS = {
  workspace: optional('-w, --workspace <name>', 'the workspace; by default that of the key in use'),
  ...TARGET_OPTIONS,
};

/** `agentplane keys …`. */
export const KEY_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'keys list',
      about: 'list the keys in force; the keys themselves are stored nowhere',
      options: { all: toggle('--all', 'revoked keys, too'), ...KEYS_OPTIONS, output: OUTPUT },
      examples: ['keys list', 'keys list --all -o yaml'],
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
      options: KEYS_OPTIONS,
      examples: ['keys create laptop', 'keys create ci --workspace team-b'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('./keys-command.js')).createKey(name, flags),
  ),
  command(
    {
      words: 'keys revoke',
      about: 'revoke a key',
      arguments: [{ name: 'id', about: 'id of the key, see "keys list"' }],
      options: KEYS_OPTIONS,
      examples: ['keys revoke 3f6C2a7eQw01'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async ([id = ''], flags) => (await import('./keys-command.js')).revokeKey(id, flags),
  ),
];
