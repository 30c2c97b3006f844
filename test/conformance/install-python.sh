#!/usr/bin/env bash
# Installs the Python clients that the conformance rows drive into a folder of their own, once for each list of them.
# Usage: install-python.sh FOLDER. Afterwards FOLDER/bin/python has them.
set -euo pipefail
folder=$1
list=$(cd "$(dirname "$0")" && pwd)/agent-server/python/requirements.txt
if cmp -s "$list" "$folder/requirements.txt"; then exit 0; fi
if ! python3 -c 'import ensurepip, venv' 2>/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get -qq update && apt-get -qq install -y python3-venv >/dev/null
fi
rm -rf "$folder"
python3 -m venv "$folder"
for try in 1 2 3; do
  if "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$list"; then
    cp "$list" "$folder/requirements.txt"
    exit 0
  fi
  sleep 5
done
echo "the Python clients could not be installed; see above" >&2
exit 1
