/**
 * The command line of Agentplane: the shape of the one table of commands, the parser and the help made from
 * it, and the exit codes. The rows are beside the programs that run them; the row of `up` is here, since the
 * platform parses it and the client lists it.
 */
export { bytes, count } from './amount.js';
export { bar } from './bar.js';
export {
  BACKUP,
  BACKUP_VERIFY,
  MIGRATE_DATABASE,
  MIGRATE_OBJECTS,
  MIGRATE_RESOURCES,
  MIGRATE_TRACES,
  RESTORE,
} from './backup-commands.js';
export { command, type ArgumentSpec, type Command, type CommandSpec, type Needs } from './command.js';
export { completionScript, COMPLETE_WORD, SHELLS, type Shell } from './completion-script.js';
export { type ExitName } from './exit-meaning.js';
export {
  defaulted,
  LIVE_NAMES,
  optional,
  parsed,
  repeated,
  toggle,
  type Completes,
  type FlagsOf,
  type LiveName,
  type OptionSpec,
} from './option.js';
export { runCommandLine, type ProgramSpec } from './parse-command-line.js';
export { programWords } from './program-words.js';
export { referencePage } from './reference-page.js';
export { cellText, renderTable } from './render-table.js';
export { shellWord } from './shell-word.js';
export { DATA_OPTION, UP } from './up-command.js';
export { visibleLine, visibleText } from './visible-text.js';
