export { bundleOf } from './bundle-of.js';
