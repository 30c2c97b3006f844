export { default } from '../agent/components.tsx';
