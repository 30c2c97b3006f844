/** The REST interface as the command line and the dashboard ask it. */
export { readWarnings } from './read-warnings.js';
export { readWorkspace, type WorkspaceDetails } from './read-workspace.js';
export { patiently } from './patiently.js';
export { RestClient, type RestAccess, type RestRequests } from './rest-client.js';
export { fetchOf, readAuthority } from './trusting-fetch.js';
export { RestError, RestRedirectError, RestUnreachableError } from './rest-error.js';
