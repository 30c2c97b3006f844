export { EXIT, runProgram, type ProgramContext, type ProgramOptions, type Stoppable } from './run-program.js';
