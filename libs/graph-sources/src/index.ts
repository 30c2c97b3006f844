/** An agent's own files as JavaScript: made by esbuild, and kept in images. */
export { type CompiledSources, compileSources, describeFailure, EVALUATED } from './compile-sources.js';
export { GRAPH_SOURCES_FILE, keepSources, keptSources } from './kept-sources.js';
