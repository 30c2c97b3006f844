import { bundleOf } from '#lib/bundles';

const bundle = bundleOf('agent-server');
await (bundle === undefined ? import('./program.js') : import(bundle));
