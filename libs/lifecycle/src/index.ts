export {
  EXIT,
  runProgram,
  ON_COMMAND,
  type Begin,
  type ProgramContext,
  type ProgramOptions,
  type Stoppable,
} from './run-program.js';
