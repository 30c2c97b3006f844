"""The model of the agent's store: texts are made vectors for searches by meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .modules import Export, ModuleRefused, load_export

_SETTING = '"store" of langgraph.json: index.embed'


async def load_embedder(index: dict[str, Any], folder: Path) -> Any:
    """An `Embeddings` of LangChain: the agent's own, one made of its function, or one of `PROVIDER:MODEL`.

    Raises ModuleRefused.
    """
    from langgraph.store.base.embed import ensure_embeddings

    source, embed = index.get("source"), index["embed"]
    found: Any = embed
    if source:
        file = str(source["file"])
        place = str((folder / file).resolve()) if file.endswith(".py") else file
        found = await load_export(Export(f"{_SETTING}", place, source["exportName"]), folder)
    try:
        return ensure_embeddings(found)
    except BaseException as error:
        cure = "" if source else "; add langchain and the provider's package to the agent's dependencies"
        raise ModuleRefused(f'{_SETTING}: "{embed}" makes no vectors: {type(error).__name__}: {error}{cure}') from error
