import { Command as Parser, InvalidArgumentError, Option } from 'commander';
import { endProcess, EXIT } from '#lib/lifecycle';
import { type ArgumentSpec, type Command, exitLines, STAYS } from './command.js';
import type { OptionSpec } from './option.js';

/** The program as its help names it. */
export interface ProgramSpec {
  readonly about: string;
  readonly version: string;
  /** One sentence for each noun that has verbs. */
  readonly groups: Readonly<Record<string, string>>;
  readonly commands: readonly Command[];
  /** Heading of the help for a command, or for the noun that it belongs to; absent: one list. */
  readonly headingOf?: (command: Command) => string;
  /** Says on standard error why a command failed, and with which code to end. */
  readonly report: (error: unknown) => number | Promise<number>;
}

/**
 * Parses the command line by the table of commands and runs the one it names. The process ends with the command's exit
 * code; wrong usage ends it with 2 and a line that names the help to read.
 */
export async function runCommandLine(program: ProgramSpec, argv: readonly string[]): Promise<void> {
  await parserOf(program).parseAsync([...argv], { from: 'user' });
}

function parserOf(program: ProgramSpec): Parser {
  const parser = new Parser('agentplane')
    .description(program.about)
    .version(program.version, '-V, --version')
    .configureHelp({ subcommandTerm: (one) => one.name(), subcommandDescription: firstClause })
    // options after a noun or a verb belong to it, even when a word before it has an option of the same name
    .enablePositionalOptions()
    .showHelpAfterError('(agentplane --help lists the commands)')
    // before the commands are made: they take it over
    .exitOverride((error) => endProcess(error.exitCode === 0 ? EXIT.ok : EXIT.usage))
    .addHelpText('after', `\nExit codes:\n${exitLines().join('\n')}`);
  for (const command of program.commands) addCommand(parser, program, command);
  const last = program.commands.at(-1);
  // the parser's own command is beside it
  if (last && program.headingOf) parser.commandsGroup(`${program.headingOf(last)}:`);
  return parser;
}

/** The part of a description that fits into one line of a list; the command's own help has the rest. */
function firstClause(parser: Parser): string {
  return parser.description().split(/[:;,]/)[0] ?? '';
}

/** Hint at the help of a command after wrong usage. */
function helpHint(words: string): string {
  return `("agentplane ${words} --help" shows its usage)`;
}

function addCommand(root: Parser, program: ProgramSpec, command: Command): void {
  const words = command.words.split(' ');
  const name = words.at(-1) ?? '';
  const parent = words.slice(0, -1).reduce((above, group) => groupOf(above, group, program), root);
  const parser = parent
    .command(name, { hidden: command.isHidden === true })
    .description(command.about)
    .showHelpAfterError(helpHint(command.words))
    .enablePositionalOptions();
  const heading = program.headingOf?.(command);
  if (heading !== undefined) (parent === root ? parser : parent).helpGroup(`${heading}:`);
  for (const argument of command.arguments ?? []) addArgument(parser, argument);
  for (const option of Object.values(command.options)) parser.addOption(optionOf(option));
  const examples = command.examples.map((example) => `  agentplane ${example}`).join('\n');
  parser.addHelpText('after', `\nExamples:\n${examples}`);
  parser.action(async (...given: readonly unknown[]) => {
    const taken = given.slice(0, command.arguments?.length ?? 0);
    const ended = await command
      .run(
        taken.flat().filter((word): word is string => typeof word === 'string'),
        { ...fallbacksOf(command), ...parser.opts() },
      )
      .catch((error: unknown) => program.report(error));
    if (ended !== STAYS) endProcess(typeof ended === 'number' ? ended : EXIT.ok);
  });
}

function groupOf(above: Parser, name: string, { groups }: ProgramSpec): Parser {
  const known = above.commands.find((one) => one.name() === name);
  if (known) return known;
  return above
    .command(name)
    .description(groups[name] ?? '')
    .showHelpAfterError(helpHint(name));
}

function addArgument(parser: Parser, { name, about, isOptional, isRepeated }: ArgumentSpec): void {
  const spelled = isRepeated ? `${name}...` : name;
  parser.argument(isOptional ? `[${spelled}]` : `<${spelled}>`, about, (text: string, before: unknown) => {
    if (text.trim() === '') throw new InvalidArgumentError('must not be empty');
    return isRepeated ? [...(Array.isArray(before) ? (before as unknown[]) : []), text] : text;
  });
}

function optionOf(spec: OptionSpec<unknown>): Option {
  const { flags, about, shownFallback, parse, isRepeated } = spec;
  const option = new Option(
    flags,
    shownFallback === undefined ? about : `${about} (default ${shownFallback})`,
  );
  if (!parse) return option;
  return option.argParser((text: string, before: unknown) => {
    try {
      const value = parse(text);
      return isRepeated && Array.isArray(before) ? before.concat(value) : value;
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
    }
  });
}

function fallbacksOf({ options }: Command): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).map(([name, { fallback }]) => [name, fallback]));
}
