/** Port at which clients of LangGraph look for a server on the local machine. */
export const DEV_PORT = 2024;
