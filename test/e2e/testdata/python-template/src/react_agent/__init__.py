"""React agent: a graph that reasons, acts, and looks at what came of it."""

from react_agent.graph import graph

__all__ = ["graph"]
