export {
  EXIT,
  runProgram,
  WHEN_TOLD,
  type Begin,
  type ProgramContext,
  type ProgramOptions,
  type Stoppable,
} from './run-program.js';
