import { bundleOf } from '#lib/bundles';

const bundle = bundleOf('export-worker');
await (bundle === undefined ? import('./program.js') : import(bundle));
