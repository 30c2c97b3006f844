/** Lines of those that wait, by owner and served in turn: what bounds work at once and is fair to its callers rests on it. */
export { WaitingLines } from './waiting-lines.js';
export { WaitingTurns } from './waiting-turns.js';
