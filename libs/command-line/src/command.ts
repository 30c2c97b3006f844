import { EXIT } from '#lib/lifecycle';
import type { Completes, FlagsOf, OptionSpec } from './option.js';

/** Ways in which a command ends. */
export type ExitName = keyof typeof EXIT;

/** Meaning of each exit code, for the help and the reference. */
export const EXIT_MEANING: Readonly<Record<ExitName, string>> = {
  ok: 'done',
  failed: 'failed; the message on standard error says why',
  usage: 'wrong usage: an unknown command or option, or a value that cannot be used',
  notFound: 'the named object, key, image or context does not exist',
  unreachable: 'no platform runs, or the server does not answer',
  timedOut: 'the time to wait has passed',
  refused: 'the key or account may not do this',
  interrupted: 'interrupted by Ctrl-C',
};

/** Names sorted by number. */
export function exitNames(): readonly ExitName[] {
  return Object.keys(EXIT)
    .filter((name): name is ExitName => Object.hasOwn(EXIT_MEANING, name))
    .sort((a, b) => EXIT[a] - EXIT[b]);
}

/** One line for each code, by number. */
export function exitLines(): readonly string[] {
  return exitNames().map((name) => `  ${String(EXIT[name]).padStart(3)}  ${EXIT_MEANING[name]}`);
}

/** One word that a command takes, in its order. */
export interface ArgumentSpec {
  /** Name in lower case, as the help shows it. */
  readonly name: string;
  readonly about: string;
  readonly isOptional?: true;
  /** Takes the rest of the line, as words of their own; the last of a command. */
  readonly isRepeated?: true;
  readonly completes?: Completes;
}

/** Program that a command talks to; the reference names it, and tests start no more than that. */
export type Needs = 'nothing' | 'data folder' | 'rest' | 'kubernetes';

type Options = Readonly<Record<string, OptionSpec<unknown>>>;

/** One row of the table of commands: everything that the parser, the help, the reference and completion need. */
export interface CommandSpec<O extends Options = Options> {
  /** `keys create`: the noun is a group of its own. */
  readonly words: string;
  /** One sentence that begins with a verb. */
  readonly about: string;
  readonly arguments?: readonly ArgumentSpec[];
  /** Options by the name under which the command finds the value: the long flag in camel case. */
  readonly options: O;
  /** Whole command lines without the program's name. */
  readonly examples: readonly string[];
  /** Exit codes beside ok, failed and usage; by default those of what it needs. */
  readonly exits?: readonly ExitName[];
  readonly needs: Needs;
  /** True for scripts of ours: neither help nor reference nor completion has it. */
  readonly isHidden?: true;
}

/** Exit codes of commands that name none. */
const USUAL_EXITS: Readonly<Record<Needs, readonly ExitName[]>> = {
  nothing: [],
  'data folder': [],
  rest: ['notFound', 'unreachable', 'refused'],
  kubernetes: ['notFound', 'unreachable', 'refused'],
};

/** Result of a command whose process goes on. */
export const STAYS = Symbol('the process goes on');

/** Exit code of a command; nothing stands for `ok`. */
export type Ended = number | void | typeof STAYS;

/** A command with what it does. */
export interface Command extends CommandSpec {
  readonly exits: readonly ExitName[];
  readonly run: (words: readonly string[], flags: Readonly<Record<string, unknown>>) => Promise<Ended>;
}

/** Joins a row of the table with what it does, with flags typed by the row's options. */
export function command<O extends Options>(
  spec: CommandSpec<O>,
  run: (words: readonly string[], flags: FlagsOf<O>) => Promise<Ended>,
): Command {
  // the parser fills the flags from these very options
  return { exits: USUAL_EXITS[spec.needs], ...spec, run: (words, flags) => run(words, flags as FlagsOf<O>) };
}
