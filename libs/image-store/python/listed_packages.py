"""What a list of packages asks to be installed, as lines of a requirements file.

``python -I listed_packages.py FOLDER LIST PYTHON``: LIST is ``uv.lock``, ``poetry.lock`` or ``pyproject.toml`` of the
folder, PYTHON the interpreter that packages are installed for. Writes one JSON object: ``lines``, ``isLocked``,
``folders`` (code of the project beside the root), or ``refused`` with what is wrong. The packages that it imports come
with pip, so any interpreter that has pip runs it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    try:
        import tomllib
    except ModuleNotFoundError:
        from pip._vendor import tomli as tomllib

    from pip._vendor.packaging.markers import Marker
    from pip._vendor.packaging.requirements import InvalidRequirement, Requirement
    from pip._vendor.packaging.specifiers import InvalidSpecifier, SpecifierSet
except ModuleNotFoundError as missing:  # a distribution may take pip apart, or have none
    cure = "install pip as its project publishes it (python3 -m ensurepip --upgrade, or get-pip.py)"
    print(json.dumps({"refused": f"the list of packages cannot be read: {sys.executable} has no {missing.name}; {cure}"}))
    raise SystemExit(0) from None

_ASK = """
import json, os, platform, sys
version = sys.implementation.version
print(json.dumps({
    "implementation_name": sys.implementation.name,
    "implementation_version": "%s.%s.%s" % (version.major, version.minor, version.micro),
    "os_name": os.name,
    "platform_machine": platform.machine(),
    "platform_release": platform.release(),
    "platform_system": platform.system(),
    "platform_version": platform.version(),
    "python_full_version": platform.python_version(),
    "platform_python_implementation": platform.python_implementation(),
    "python_version": ".".join(platform.python_version_tuple()[:2]),
    "sys_platform": sys.platform,
    "extra": "",
}))
"""


class Refused(Exception):
    """What the list asks for cannot be installed."""


class OtherPython(Refused):
    """The list is for other versions of Python."""


Document = dict[str, Any]


def _read(path: Path) -> Document:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused(f"{path.name} is not TOML: {error}") from error


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


class Lines:
    """The requirements of one lock file."""

    def __init__(self, lock: str) -> None:
        self._lock = lock
        self.texts: list[str] = []
        self.folders: list[str] = []

    def add(self, name: str, version: str, source: Document, hashes: list[str]) -> None:
        """One package; `source` is what the lock file says of where it comes from."""
        kind = next((key for key in ("git", "path", "url") if key in source), "registry")
        if kind in ("git", "path"):
            raise Refused(
                f"{self._lock}: {name} comes from {source[kind]}; only packages of an index or an address can be installed"
            )
        if not hashes:
            raise Refused(f"{self._lock}: {name} {version} has no hashes; lock the project again")
        asked = f"{name} @ {source['url']}" if kind == "url" else f"{name}=={version}"
        self.texts.append(" ".join([asked, *(f"--hash={one}" for one in sorted(set(hashes)))]))


class Environment:
    """The interpreter that packages are installed for."""

    def __init__(self, python: str) -> None:
        asked = subprocess.run([python, "-I", "-c", _ASK], capture_output=True, text=True, check=True)
        self._values: dict[str, str] = json.loads(asked.stdout)
        #: What the list says of Python, once it was looked at.
        self.asked: str | None = None

    def fits(self, marker: str | None, extras: frozenset[str] = frozenset()) -> bool:
        if not marker:
            return True
        parsed = Marker(marker)
        return any(parsed.evaluate({**self._values, "extra": extra}) for extra in ("", *extras))

    def require(self, asked: str | None, where: str) -> None:
        version = self._values["python_full_version"]
        self.asked = asked
        try:
            fits = asked is None or SpecifierSet(asked).contains(version, prereleases=True)
        except InvalidSpecifier:
            return
        if not fits:
            raise OtherPython(
                f"{where} asks for Python {asked}, and this is Python {version}; "
                'set "python_version" of langgraph.json to one that it takes'
            )


def of_uv(folder: Path, environment: Environment) -> Lines:
    lock = _read(folder / "uv.lock")
    environment.require(lock.get("requires-python"), "uv.lock")
    packages: dict[str, list[Document]] = {}
    for package in lock.get("package", []):
        packages.setdefault(package["name"], []).append(package)
    every = [package for found in packages.values() for package in found]
    roots = [one for one in every if _place_of(one.get("source", {})) == "."]
    # a workspace without a package of its own: all of its members
    roots = roots or [one for one in every if _place_of(one.get("source", {})) is not None]
    if not roots:
        raise Refused("uv.lock names no project of this folder; run: uv lock")

    def named(dependency: Document) -> Document:
        for package in packages.get(dependency["name"], []):
            if "version" in dependency and dependency["version"] != package.get("version"):
                continue
            if "source" in dependency and dependency["source"] != package.get("source"):
                continue
            markers = package.get("resolution-markers")
            if not markers or any(environment.fits(marker) for marker in markers):
                return package
        raise Refused(f"uv.lock: {dependency['name']} is asked for and not listed; run: uv lock")

    lines = Lines("uv.lock")
    seen: set[tuple[str, str, str]] = set()
    added: set[tuple[str, str]] = set()
    waiting: list[tuple[Document, str]] = [(root, "") for root in roots]
    while waiting:
        package, extra = waiting.pop()
        key = (package["name"], package.get("version", ""), extra)
        if key in seen:
            continue
        seen.add(key)
        source = package.get("source", {})
        place = _place_of(source)
        if place is not None:
            lines.folders.append(place)
        elif key[:2] not in added:
            added.add(key[:2])
            files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
            lines.add(package["name"], package.get("version", ""), source, [one["hash"] for one in files if "hash" in one])
        asked = package.get("optional-dependencies", {}).get(extra, []) if extra else package.get("dependencies", [])
        for dependency in asked:
            if environment.fits(dependency.get("marker")):
                found = named(dependency)
                waiting.extend((found, one) for one in ("", *dependency.get("extra", [])))
    return lines


def _place_of(source: Document) -> str | None:
    """The folder of a package whose code is the project's own."""
    return next((source[kind] for kind in ("editable", "virtual", "directory") if kind in source), None)


def of_poetry(folder: Path, environment: Environment) -> Lines:
    lock = _read(folder / "poetry.lock")
    environment.require(_poetry_range(lock.get("metadata", {}).get("python-versions")), "poetry.lock")
    packages: list[Document] = lock.get("package", [])
    if any("groups" in package for package in packages):
        chosen = [one for one in packages if _is_main(one, environment)]
    else:
        chosen = list(_reachable(folder, packages, environment))
    lines = Lines("poetry.lock")
    for package in chosen:
        source = package.get("source", {})
        kind, url = source.get("type"), source.get("url", "")
        if kind in ("directory",):
            lines.folders.append(url)
            continue
        place = {"git": {"git": url}, "file": {"path": url}, "url": {"url": url}}.get(kind or "", {})
        lines.add(package["name"], package["version"], place, [one["hash"] for one in package.get("files", [])])
    return lines


def _is_main(package: Document, environment: Environment) -> bool:
    if package.get("optional") or "main" not in package["groups"]:
        return False
    markers = package.get("markers")
    return environment.fits(markers.get("main") if isinstance(markers, dict) else markers)


def _reachable(folder: Path, packages: list[Document], environment: Environment) -> Iterator[Document]:
    """Locks of Poetry 1 do not say which packages are for development alone."""
    by_name: dict[str, list[Document]] = {}
    for package in packages:
        by_name.setdefault(_name(package["name"]), []).append(package)
    project = _read(folder / "pyproject.toml") if (folder / "pyproject.toml").exists() else {}
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(line) for line in _lines_of_project(project, folder)]
    while waiting:
        requirement = waiting.pop()
        if not environment.fits(str(requirement.marker) if requirement.marker else None):
            continue
        for package in by_name.get(_name(requirement.name), []):
            if not requirement.specifier.contains(package["version"], prereleases=True):
                continue
            for extra in ("", *requirement.extras):
                key = (_name(package["name"]), f"{package['version']} {extra}")
                if key in seen:
                    continue
                seen.add(key)
                if extra == "":
                    yield package
                waiting.extend(_asked_by(package, extra))


def _asked_by(package: Document, extra: str) -> Iterator[Requirement]:
    of_extra = {_name(re.split(r"[\s(\[]", one)[0]) for one in package.get("extras", {}).get(extra, [])}
    for name, given in package.get("dependencies", {}).items():
        for one in given if isinstance(given, list) else [given]:
            is_optional = isinstance(one, dict) and one.get("optional", False)
            if (is_optional and _name(name) in of_extra) or (extra == "" and not is_optional):
                # the marker of an optional one says by which extra it is asked for
                line = _poetry_line(name, {**one, "markers": None} if is_optional and isinstance(one, dict) else one)
                if line is not None:
                    yield Requirement(line)


def of_project(folder: Path, environment: Environment) -> list[str]:
    document = _read(folder / "pyproject.toml")
    environment.require(document.get("project", {}).get("requires-python"), "pyproject.toml")
    return [line for line in _lines_of_project(document, folder)]


def _lines_of_project(document: Document, folder: Path) -> list[str]:
    project = document.get("project", {})
    if "dependencies" in project:
        return list(project["dependencies"])
    if "dependencies" in project.get("dynamic", []):
        return list(_dynamic_lines(document, folder))
    poetry = document.get("tool", {}).get("poetry", {}).get("dependencies", {})
    lines: list[str] = []
    for name, given in poetry.items():
        for one in given if isinstance(given, list) else [given]:
            is_optional = isinstance(one, dict) and one.get("optional", False)
            line = None if _name(name) == "python" or is_optional else _poetry_line(name, one)
            if line is not None:
                lines.append(line)
    return lines


def _dynamic_lines(document: Document, folder: Path) -> Iterator[str]:
    dynamic = document.get("tool", {}).get("setuptools", {}).get("dynamic", {}).get("dependencies", {})
    files = dynamic.get("file", [])
    if not files:
        raise Refused('pyproject.toml: its "dependencies" are made by a build; list them, or add a requirements.txt')
    for file in [files] if isinstance(files, str) else files:
        yield from (line for line in (folder / file).read_text("utf-8").splitlines() if re.match(r"\s*[A-Za-z0-9]", line))


def _poetry_line(name: str, given: Any) -> str | None:
    """A dependency in the words of Poetry, in those of everybody."""
    if isinstance(given, str):
        return f"{name}{_poetry_range(given) or ''}"
    if "path" in given or "git" in given:
        return None
    extras = f"[{','.join(given['extras'])}]" if given.get("extras") else ""
    python = _poetry_range(given.get("python"))
    markers = [f"({given['markers']})"] if given.get("markers") else []
    markers += [f"python_full_version {one}" for one in _quoted(python)]
    asked = f" @ {given['url']} " if "url" in given else _poetry_range(given.get("version")) or ""
    return f"{name}{extras}{asked}" + (f" ; {' and '.join(markers)}" if markers else "")


def _quoted(ranges: str | None) -> list[str]:
    parts = re.findall(r"([=!<>~]+)\s*([^,\s]+)", ranges or "")
    return [f'{operator} "{version}"' for operator, version in parts]


def _poetry_range(given: str | None) -> str | None:
    if given is None:
        return None
    if "|" in given:
        return None  # one of several ranges: what is locked, or the newest, is taken
    return ",".join(filter(None, (_one_range(part.strip()) for part in re.split(r"[,\s]+(?=[\^~=!<>*\d])", given.strip(" ()"))))) or None


def _one_range(part: str) -> str:
    match = re.fullmatch(r"([\^~]|[=!<>]=?|~=|===?)?\s*v?(\d[\w.+!-]*|\*)((?:\.\*)?)", part)
    if not match:
        return part
    operator, version, star = match[1] or "", match[2], match[3]
    if version == "*":
        return ""
    numbers = [int(number) for number in re.findall(r"\d+", version.split("+")[0].split("a")[0].split("b")[0].split("rc")[0])]
    if operator == "^":
        at = next((index for index, number in enumerate(numbers) if number > 0), len(numbers) - 1)
        return f">={version},<{'.'.join(map(str, [*numbers[:at], numbers[at] + 1]))}"
    if operator == "~":
        at = min(1, len(numbers) - 1)
        return f">={version},<{'.'.join(map(str, [*numbers[:at], numbers[at] + 1]))}"
    return f"{operator or '=='}{version}{star}"


def main(folder: Path, kind: str, python: str) -> Document:
    environment = Environment(python)
    try:
        if kind == "pyproject.toml":
            lines = of_project(folder, environment)
            for line in lines:
                Requirement(line)
            return {"lines": lines, "isLocked": False, "folders": [], "python": environment.asked}
        found = of_uv(folder, environment) if kind == "uv.lock" else of_poetry(folder, environment)
        folders = sorted(set(found.folders) - {"."})
        return {"lines": sorted(found.texts), "isLocked": True, "folders": folders, "python": environment.asked}
    except OtherPython as error:
        return {"refused": str(error), "isPython": True}
    except Refused as error:
        return {"refused": str(error)}
    except InvalidRequirement as error:
        return {"refused": f"{kind}: {str(error).splitlines()[0]}"}
    except (KeyError, TypeError, AttributeError) as error:
        return {"refused": f"{kind} is not as this version of its tool writes it: {type(error).__name__}: {error}"}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])))
