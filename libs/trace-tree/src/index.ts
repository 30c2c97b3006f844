/** Runs of a trace as people read them: the tree, and its cells. For the command line and the dashboard. */
export { type ReadRun, RUN_FIELDS } from './read-run.js';
export { ageText, costText, errorLine, latencyText, nameText, timeText, tokensText } from './run-cells.js';
export { answerLine, askedLine, contentText } from './spoken.js';
export { treeRows, type TreeRow } from './trace-tree.js';
