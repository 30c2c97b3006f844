/**
 * The variables by which nodes of one machine know the processes of their pods: the node's folder of pods, the pod, and the
 * attempt at a container. Nodes may give the same users to their pods and end what runs as one of these and names no other
 * node, so a program hands them on to every child that has an environment of its own.
 */
export const NODE_MARKS = ['AGENTPLANE_NODE_PODS', 'AGENTPLANE_POD_UID', 'AGENTPLANE_ATTEMPT'] as const;
