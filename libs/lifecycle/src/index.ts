export {
  EXIT,
  runProgram,
  ON_COMMAND,
  type Begin,
  type ProgramContext,
  type ProgramOptions,
  type Stoppable,
} from './run-program.js';
export {
  EXIT_GRAPH_LOAD_FAILED,
  formatTerminationMessage,
  readTerminationMessage,
} from './termination-message.js';
