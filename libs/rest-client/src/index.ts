/** Runs of a trace as people read them: the tree, and its cells. For the command line and the dashboard. */
export { type ReadRun, RUN_FIELDS } from './trace-tree/trace-tree.js';
export {
  ageText,
  costText,
  errorLine,
  latencyText,
  nameText,
  timeText,
  tokensText,
} from './trace-tree/trace-tree.js';
export { treeRows, type TreeRow } from './trace-tree/trace-tree.js';

/** The REST interface as the command line and the dashboard ask it. */
export { readWarnings } from './read-workspace.js';
export { readWorkspace, type WorkspaceDetails } from './read-workspace.js';
export { patiently, type PatientRequests } from './patiently.js';
export { RestClient, type RestAccess, type RestRequests } from './rest-client.js';
export { fetchOf, readAuthority } from './trusting-fetch.js';
export { RestError, RestRedirectError, RestUnreachableError } from './rest-client.js';
