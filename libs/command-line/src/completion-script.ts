import type { Command } from './command.js';
import { type Completes, LIVE_NAMES, type LiveName } from './option.js';
import type { ProgramSpec } from './parse-command-line.js';

/** Shells that a completion script can be made for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Words that stand for kinds; a kind with another name can be typed all the same. */
const KINDS = [
  'deployments',
  'revisions',
  'exports',
  'days',
  'destinations',
  'listeners',
  'workspaces',
  'pods',
  'events',
  'secrets',
  'services',
  'jobs',
];

type Table = Pick<ProgramSpec, 'commands' | 'groups'>;

/** The hidden command that prints names for completion. */
export const COMPLETE_WORD = 'complete-names';

/** Options that name the platform, or a part of it, that names are asked of. */
const PLACE_OPTIONS = ['--data', '--context', '-w', '--workspace', '-n', '--namespace'];

/** A script for the shell that offers what the table of commands holds: words, options, and values where they are known. */
export function completionScript(shell: Shell, table: Table): string {
  const shown = { ...table, commands: table.commands.filter(({ isHidden }) => !isHidden) };
  switch (shell) {
    case 'bash':
      return bashScript(shown);
    case 'zsh':
      return `autoload -U +X bashcompinit && bashcompinit\n${bashScript(shown)}`;
    case 'fish':
      return fishScript(shown);
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

/** Words after each beginning of a command: `''` → its first words, `keys` → its verbs. */
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

function isLive(completes: Completes): completes is LiveName {
  return LIVE_NAMES.some((name) => name === completes);
}

/** A command of bash that fills COMPREPLY from the values of one place. */
function bashValues(completes: Completes | undefined): string {
  if (completes === undefined) return ':';
  if (typeof completes !== 'string') return `_agentplane_words ${quote(completes.join(' '))}`;
  if (isLive(completes)) return `_agentplane_names ${completes}`;
  switch (completes) {
    case 'file':
      return 'COMPREPLY=($(compgen -f -- "$cur"))';
    case 'folder':
      return 'COMPREPLY=($(compgen -d -- "$cur"))';
    case 'kind':
      return `_agentplane_words ${quote(KINDS.join(' '))}`;
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
  const takers = table.commands.flatMap((command) =>
    flagsOf(command)
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ names }) => names.map((name) => quote(`${command.words}:${name}`))),
  );
  const first = table.commands.flatMap(({ words, arguments: taken = [] }) =>
    taken.map(({ completes }, at) => `    ${quote(`${words}:${at}`)}) ${bashValues(completes)} ;;`),
  );
  return `_agentplane_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
# names are of others, and compgen -W would expand what is in them
_agentplane_names() {
  local line
  while IFS= read -r line; do
    case "$line" in "$cur"*) COMPREPLY+=("$(printf %q "$line")") ;; esac
  done < <("\${COMP_WORDS[0]}" ${COMPLETE_WORD} "$1" "\${given[@]:0:1}" "\${target[@]}" 2>/dev/null)
}
_agentplane() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path='' place=0 word taker=''
  local given=() target=()
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$taker" in
    '') ;;
    ${PLACE_OPTIONS.join('|')}) target+=("$taker" "$word"); taker=''; continue ;;
    *) taker=''; continue ;;
    esac
    case "$path:$word" in
    ${takers.join('|') || "''"}) taker="$word"; continue ;;
    esac
    case "$word" in -*) continue ;; esac
    case "\${path:+$path }$word" in
    ${paths.map(quote).join('|')}) path="\${path:+$path }$word" ;;
    *) place=$((place + 1)); given+=("$word") ;;
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
  return ['complete -c agentplane -f', FISH_NAMES, ...nouns, ...lines, ''].join('\n');
}

/** Names of one sort, of the platform that the line means; of a kind, once the line has one. */
const FISH_NAMES = `function __agentplane_names
    set -l words (commandline -opc)
    set -l target
    for at in (seq (count $words))
        contains -- $words[$at] ${PLACE_OPTIONS.join(' ')}; and set -a target $words[$at] $words[(math $at + 1)]
    end
    set -l kind
    test $argv[1] = object; and set kind $words[3]
    $words[1] ${COMPLETE_WORD} $argv[1] $kind $target 2>/dev/null
end`;

function fishFlag({ names, about, takesValue, completes }: Flag, isHere: string): string {
  const spelled = names.map((name) =>
    name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  );
  const value = takesValue ? ` -r ${completes === undefined ? '' : fishValues(completes)}` : '';
  return `complete -c agentplane -n ${quote(isHere)} ${spelled.join(' ')} -d ${quote(about)}${value}`.trimEnd();
}

function fishValues(completes: Completes): string {
  if (typeof completes !== 'string') return `-a ${quote(completes.join(' '))}`;
  if (isLive(completes)) return `-a '(__agentplane_names ${completes})'`;
  switch (completes) {
    case 'file':
    case 'folder':
      return '-F';
    case 'kind':
      return `-a ${quote(KINDS.join(' '))}`;
    default:
      return completes satisfies never;
  }
}

/** One word of any of the shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
