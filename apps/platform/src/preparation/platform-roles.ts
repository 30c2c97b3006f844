/** The roles of the platform's own programs, with the connections that are kept for each: it may have no more. */
export const PLATFORM_ROLES = { agentplane: 60, deployments: 5, kube: 10 } as const;
