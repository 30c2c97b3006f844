"""The worker that runs an agent's Python graphs for the agent server, which speaks to it by frames over a socket."""
