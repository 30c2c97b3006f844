"""Packs what is installed beside this interpreter into wheels again: ``python pack-wheels.py FOLDER``.

Tests install agents from them, with no index.
"""

import sys
import zipfile
from importlib.metadata import Distribution, distributions
from pathlib import Path

_MADE = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")


def _tag(distribution: Distribution) -> str:
    lines = (distribution.read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag:").strip().split("-") for line in lines if line.startswith("Tag:")]
    return "-".join(".".join(dict.fromkeys(parts)) for parts in zip(*tags, strict=True))


def _pack(distribution: Distribution, folder: Path) -> None:
    name = distribution.metadata["Name"].replace("-", "_").replace(".", "_")
    files = {
        str(path): Path(str(path.locate()))
        for path in distribution.files or []
        if ".." not in path.parts and path.suffix != ".pyc" and path.name not in _MADE
    }
    record = f"{name}-{distribution.version}.dist-info/RECORD"
    for path in files:
        if path.endswith(".dist-info/METADATA"):
            record = path.replace("METADATA", "RECORD")
    with zipfile.ZipFile(folder / f"{name}-{distribution.version}-{_tag(distribution)}.whl", "w") as wheel:
        for path, source in files.items():
            wheel.write(source, path)
        wheel.writestr(record, "".join(f"{path},,\n" for path in [*files, record]))


target = Path(sys.argv[1])
target.mkdir(parents=True, exist_ok=True)
for found in distributions():
    if found.metadata["Name"] not in ("pip", "setuptools"):
        _pack(found, target)
