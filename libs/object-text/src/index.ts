/** Objects of the API server as texts for people, alike in the command line and the dashboard. */
export { renderDescription } from './render-description.js';
export { workspaceLines } from './workspace-lines.js';
