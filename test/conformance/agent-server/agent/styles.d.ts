/** esbuild bundles styles that a component imports. */
declare module '*.css';
