"""Writes wheels of nothing: ``python make-wheels.py FOLDER NAME==VERSION[:REQUIREMENT,...]...``

That of ``hook`` notes in ``FOLDER/ran`` each start of an interpreter that sees it.
"""

import sys
import zipfile
from pathlib import Path

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for asked in sys.argv[2:]:
    what, _, requires = asked.partition(":")
    name, version = what.split("==")
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {one}" for one in requires.split(",") if one]
    files = {
        f"{module}/__init__.py": f'VERSION = "{version}"\n\n\ndef main():\n    print(VERSION)\n',
        f"{info}/METADATA": "\n".join(metadata) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{module}-command = {module}:main\n",
    }
    if name == "hook":
        # run whenever an interpreter starts that sees it
        ran = str(folder.resolve() / "ran")
        files["hook.pth"] = f"import sys; open({ran!r}, 'a').write(f'{{sys.argv}}\\n')\n"
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            # the same bytes each time
            wheel.writestr(zipfile.ZipInfo(path), text)
