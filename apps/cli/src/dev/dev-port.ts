/** Where clients of LangGraph look for a server on one's own machine. */
export const DEV_PORT = 2024;
