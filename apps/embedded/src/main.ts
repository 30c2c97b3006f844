import { bundleOf } from '#lib/bundles';

const bundle = bundleOf('embedded');
await (bundle === undefined ? import('./program.js') : import(bundle));
