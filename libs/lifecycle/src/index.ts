export { readAgentReport, type AgentReport } from './agent-report.js';
export { boundHeapGrowth } from './bound-heap-growth.js';
export { collectWhenIdle } from './collect-when-idle.js';
export { endProcess } from './end-process.js';
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
  formatNotReady,
  formatRunLoad,
  type NotReady,
  formatHostEnds,
  readHostEnds,
  readNotReady,
  readRunLoad,
  type RunLoad,
} from './readiness-answer.js';
export {
  becomeLaunched,
  launchSpare,
  SPARE,
  spareReady,
  type SpareLaunch,
  type SpareSocket,
} from './spare.js';
export { formatIdle, IDLE_HEADER, type IdleAnswer, isIdleToken, readIdle } from './idle-answer.js';
export {
  DISK_FULL,
  IMAGE_PUSHED,
  REGISTRY_UNAVAILABLE,
  EXIT_DEPENDENCY_UNAVAILABLE,
  EXIT_GRAPH_LOAD_FAILED,
  formatTerminationMessage,
  parseTerminationMessage,
  readTerminationMessage,
  type TerminationMessage,
} from './termination-message.js';
