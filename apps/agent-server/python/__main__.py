"""`python FOLDER` of this folder starts the worker, wherever the folder lies."""

import agentplane_worker.__main__  # noqa: F401
