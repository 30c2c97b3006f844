import { EXIT } from '#lib/lifecycle';
import { type Command, EXIT_MEANING, exitNames } from './command.js';
import type { ProgramSpec } from './parse-command-line.js';

/** The reference of the command line in Markdown, from the table of commands. */
export function referencePage(program: Pick<ProgramSpec, 'commands'>): string {
  const commands = program.commands.filter(({ isHidden }) => !isHidden);
  return [
    '# The command line',
    'In a checkout, and where the package is installed, `npx agentplane COMMAND`; elsewhere `node FOLDER/bin/agentplane.js COMMAND`. `agentplane COMMAND --help` shows the same as this page.',
    'Completion for the running shell: `source <(agentplane completion bash)`, the same with `zsh`, or `agentplane completion fish | source`. It offers commands, options and their values, and asks the platform that the line means (`--data`, `--context`) for names of deployments, exports, projects, keys, workspaces and other objects; while that does not answer it offers none.',
    '## Which platform',
    'A command talks to the platform of `--data DIR`, else to that of `--context NAME`, else to the context in `AGENTPLANE_CONTEXT`, else to the one chosen with `contexts use`, else to the platform over `./.agentplane`. A context has an address of the REST interface, a key, and if wanted a kubeconfig and a region; contexts are kept in `$XDG_CONFIG_HOME/agentplane/contexts.json` (`~/.config/agentplane/contexts.json`), readable by you alone.',
    '`keys` of other workspaces than the key’s own need the operator key, which `agentplane up` keeps in `credentials.json` of its data folder: it lists, creates and revokes API keys of any workspace and opens nothing else.',
    '## Output',
    '`-o table` and `-o wide` print the columns that the API server defines, as `kubectl get` does; `-o json`, `-o yaml` and `-o name` are those of kubectl, too. `-o jsonpath=TEMPLATE` takes its dialect: `{.a.b}`, `{[0]}`, `{[*]}`, `{[?(@.a=="b")]}`, `{"text"}`, `{range .a[*]}…{end}`. What is asked for goes to standard output, everything else to standard error.',
    '## Exit codes',
    table(
      ['code', 'meaning'],
      exitNames().map((name) => [String(EXIT[name]), EXIT_MEANING[name]]),
    ),
    '## Commands',
    table(
      ['command', 'does'],
      commands.map(({ words, about }) => [`[\`${words}\`](#${words.replaceAll(' ', '-')})`, about]),
    ),
    ...commands.map(commandSection),
  ]
    .join('\n\n')
    .concat('\n');
}

function commandSection(command: Command): string {
  const { words, about, arguments: taken = [], options, examples, exits, needs } = command;
  const usage = taken.map(({ name, isOptional }) => (isOptional ? ` [${name}]` : ` <${name}>`)).join('');
  const rows = [
    ...taken.map((one) => [`\`${one.name}\``, one.about]),
    ...Object.values(options).map(({ flags, about: says, shownFallback }) => [
      `\`${flags}\``,
      `${says}${shownFallback === undefined ? '' : ` (default \`${shownFallback}\`)`}`,
    ]),
  ];
  const codes =
    exits.length === 0 ? '' : ` Exit codes beside 0, 1 and 2: ${exits.map((name) => EXIT[name]).join(', ')}.`;
  return [
    `### ${words}`,
    `\`agentplane ${words}${usage}\`: ${about}. Needs: ${needs}.${codes}`,
    ...(rows.length === 0 ? [] : [table(['', ''], rows)]),
    `\`\`\`\n${examples.map((example) => `agentplane ${example}`).join('\n')}\n\`\`\``,
  ].join('\n\n');
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(headings), `|${headings.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
