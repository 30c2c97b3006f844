/**
 * The command line of Agentplane: the shape of the one table of commands, the parser and the help made from
 * it, and the exit codes. The rows are beside the programs that run them; the row of `up` is here, since the
 * platform parses it and the client lists it.
 */
export { bytes, count, bar, cellText, renderTable, visibleLine, visibleText } from './render-table.js';
export {
  BACKUP,
  BACKUP_VERIFY,
  MIGRATE_DATABASE,
  MIGRATE_OBJECTS,
  MIGRATE_RESOURCES,
  MIGRATE_TRACES,
  RESTORE,
  DATA_OPTION,
  UP,
} from './backup-commands.js';
export {
  command,
  STAYS,
  type ArgumentSpec,
  type Command,
  type CommandSpec,
  type Ended,
  type Needs,
  type ExitName,
} from './command.js';
export { completionScript, COMPLETE_WORD, SHELLS, type Shell } from './completion-script.js';
export {
  defaulted,
  LIVE_NAMES,
  optional,
  parsed,
  repeated,
  toggle,
  wholeNumber,
  type Completes,
  type FlagsOf,
  type LiveName,
  type OptionSpec,
} from './option.js';
export { runCommandLine, type ProgramSpec } from './parse-command-line.js';
export { programWords, shellWord } from './program-words.js';
export { referencePage } from './reference-page.js';
