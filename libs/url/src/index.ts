/** Parts of URLs, as texts. */
export { urlHost } from './url-host.js';
export { withoutTrailingSlashes } from './without-trailing-slashes.js';
