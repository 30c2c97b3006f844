import {
  type Command,
  command,
  COMPLETE_WORD,
  completionScript,
  LIVE_NAMES,
  optional,
  type ProgramSpec,
  SHELLS,
} from '#lib/command-line';
import { EXIT } from '#lib/lifecycle';
import { TARGET_OPTIONS } from '../context/target.js';

type Table = Pick<ProgramSpec, 'commands' | 'groups'>;

/** `agentplane completion SHELL`, and what its scripts call. @param table all commands, these included */
export function completionCommands(table: () => Table): readonly Command[] {
  return [
    command(
      {
        words: 'completion',
        about: 'print a completion script for a shell',
        arguments: [{ name: 'shell', about: SHELLS.join(', '), completes: SHELLS }],
        options: {},
        examples: [
          'completion bash >> ~/.bashrc',
          'completion zsh >> ~/.zshrc',
          'completion fish >> ~/.config/fish/config.fish',
        ],
        exits: [],
        needs: 'nothing',
      },
      async ([given = '']) => {
        const shell = SHELLS.find((one) => one === given);
        if (shell === undefined) {
          process.stderr.write(`no completion for shell ${given}: known are ${SHELLS.join(', ')}\n`);
          return EXIT.usage;
        }
        process.stdout.write(completionScript(shell, table()));
        return EXIT.ok;
      },
    ),
    command(
      {
        words: COMPLETE_WORD,
        about: 'print the names that completion offers, one in a line; nothing while they cannot be read',
        arguments: [
          { name: 'what', about: LIVE_NAMES.join(', ') },
          { name: 'kind', about: 'of objects', isOptional: true },
        ],
        options: {
          ...TARGET_OPTIONS,
          workspace: optional('-w, --workspace <name>', 'whose keys'),
          namespace: optional('-n, --namespace <name>', 'whose objects'),
        },
        examples: [`${COMPLETE_WORD} object adep`],
        exits: [],
        needs: 'nothing',
        isHidden: true,
      },
      async ([what = '', kind], flags) => (await import('./complete-names.js')).printNames(what, kind, flags),
    ),
  ];
}
