/** Name of the first Workspace, its Listener's is the platform's default. */
export const FIRST_WORKSPACE = 'default';
