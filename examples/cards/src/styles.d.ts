/** Styles that components import. */
declare module '*.css';
