import type { Command } from './command.js';
import type { Completes } from './option.js';
import type { ProgramSpec } from './parse-command-line.js';

/** Shells that a completion script can be made for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Words that stand for kinds; a kind with another name can be typed all the same. */
const KINDS = [
  ...['agentdeployments', 'agentrevisions', 'bulkexportdestinations', 'bulkexportruns', 'bulkexports'],
  ...['listeners', 'workspaces', 'pods', 'events', 'secrets', 'services', 'jobs'],
];

type Table = Pick<ProgramSpec, 'commands' | 'groups'>;

/** A script for the shell that offers what the table of commands holds: words, options, and values where they are known. */
export function completionScript(shell: Shell, table: Table): string {
  switch (shell) {
    case 'bash':
      return bashScript(table);
    case 'zsh':
      return `autoload -U +X bashcompinit && bashcompinit\n${bashScript(table)}`;
    case 'fish':
      return fishScript(table);
    default:
      return shell satisfies never;
  }
}

interface Flag {
  /** `-o` and `--output`. */
  readonly names: readonly string[];
  readonly about: string;
  readonly takesValue: boolean;
  readonly completes: Completes | undefined;
}

function flagsOf({ options }: Command): readonly Flag[] {
  return Object.values(options).map(({ flags, about, parse, completes }) => ({
    names: flags.split(/[ ,]+/).filter((word) => word.startsWith('-')),
    about,
    takesValue: parse !== undefined,
    completes,
  }));
}

/** What follows each beginning of a command: `''` → its first words, `keys` → its verbs. */
function wordsAfter({ commands }: Table): ReadonlyMap<string, ReadonlySet<string>> {
  const after = new Map<string, Set<string>>();
  for (const { words } of commands) {
    const parts = words.split(' ');
    parts.forEach((word, at) => {
      const before = parts.slice(0, at).join(' ');
      after.set(before, (after.get(before) ?? new Set()).add(word));
    });
  }
  return after;
}

/** A command of bash that fills COMPREPLY from the values of one place. */
function bashValues(completes: Completes | undefined): string {
  if (completes === undefined) return ':';
  if (typeof completes !== 'string') return `_agentplane_words ${quote(completes.join(' '))}`;
  switch (completes) {
    case 'file':
      return 'COMPREPLY=($(compgen -f -- "$cur"))';
    case 'folder':
      return 'COMPREPLY=($(compgen -d -- "$cur"))';
    case 'kind':
      return `_agentplane_words ${quote(KINDS.join(' '))}`;
    case 'context':
      return '_agentplane_words "$(agentplane contexts list -o name 2>/dev/null)"';
    default:
      return completes satisfies never;
  }
}

function bashScript(table: Table): string {
  const after = wordsAfter(table);
  const beginnings = [...after].map(
    ([before, words]) => `    ${quote(before)}) _agentplane_words ${quote([...words].join(' '))} ;;`,
  );
  const paths = [...new Set([...after.keys(), ...table.commands.map(({ words }) => words)])].filter(Boolean);
  const values = table.commands.flatMap((command) =>
    flagsOf(command)
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ names, completes }) =>
        names.map((name) => `    ${quote(`${command.words}:${name}`)}) ${bashValues(completes)}; return ;;`),
      ),
  );
  const options = table.commands.map((command) => {
    const names = flagsOf(command).flatMap((flag) => flag.names);
    return `    ${quote(command.words)}) _agentplane_words ${quote([...names, '--help'].join(' '))} ;;`;
  });
  const first = table.commands.flatMap(({ words, arguments: taken = [] }) =>
    taken.map(({ completes }, at) => `    ${quote(`${words}:${at}`)}) ${bashValues(completes)} ;;`),
  );
  return `_agentplane_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
_agentplane() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path='' place=0 word
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) continue ;; esac
    case "\${path:+$path }$word" in
    ${paths.map(quote).join('|')}) path="\${path:+$path }$word" ;;
    *) place=$((place + 1)) ;;
    esac
  done
  case "$path:$prev" in
${values.join('\n')}
  esac
  case "$cur" in -*)
    case "$path" in
${options.join('\n')}
    esac
    return ;;
  esac
  case "$path" in
${beginnings.join('\n')}
    *) case "$path:$place" in
${first.join('\n')}
    esac ;;
  esac
}
complete -F _agentplane agentplane
`;
}

function fishScript({ commands, groups }: Table): string {
  const nouns = Object.entries(groups).map(
    ([noun, about]) => `complete -c agentplane -n __fish_use_subcommand -a ${noun} -d ${quote(about)}`,
  );
  const lines = commands.flatMap((command) => {
    const words = command.words.split(' ');
    const verb = words.at(-1) ?? '';
    const parents = words.slice(0, -1);
    const isHere = words.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
    const isBefore =
      parents.length === 0
        ? '__fish_use_subcommand'
        : `${parents.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ')}; and not __fish_seen_subcommand_from ${verb}`;
    const values = (command.arguments ?? []).flatMap(({ completes }) =>
      completes === undefined ? [] : [`complete -c agentplane -n ${quote(isHere)} ${fishValues(completes)}`],
    );
    return [
      `complete -c agentplane -n ${quote(isBefore)} -a ${verb} -d ${quote(command.about)}`,
      ...values,
      ...flagsOf(command).map((flag) => fishFlag(flag, isHere)),
    ];
  });
  return ['complete -c agentplane -f', ...nouns, ...lines, ''].join('\n');
}

function fishFlag({ names, about, takesValue, completes }: Flag, isHere: string): string {
  const spelled = names.map((name) =>
    name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  );
  const value = takesValue ? ` -r ${completes === undefined ? '' : fishValues(completes)}` : '';
  return `complete -c agentplane -n ${quote(isHere)} ${spelled.join(' ')} -d ${quote(about)}${value}`.trimEnd();
}

function fishValues(completes: Completes): string {
  if (typeof completes !== 'string') return `-a ${quote(completes.join(' '))}`;
  switch (completes) {
    case 'file':
    case 'folder':
      return '-F';
    case 'kind':
      return `-a ${quote(KINDS.join(' '))}`;
    case 'context':
      return "-a '(agentplane contexts list -o name 2>/dev/null)'";
    default:
      return completes satisfies never;
  }
}

/** One word of any of the shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
