/** Variable that every process of a node carries; its value is the node's folder of pods. Found again in `/proc`. */
export const NODE_MARKER = 'AGENTPLANE_NODE_PODS';
/** The pod that a process belongs to. */
export const POD_MARKER = 'AGENTPLANE_POD_UID';
/** The attempt at a container that a process belongs to: what it left running when it ended is found by it. */
export const ATTEMPT_MARKER = 'AGENTPLANE_ATTEMPT';
