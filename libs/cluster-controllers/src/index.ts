/** The controllers that a cluster brings along: clients of the Kubernetes API that need no server of ours. */
export { startClusterControllers } from './start-cluster-controllers.js';
