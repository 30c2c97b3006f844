#!/usr/bin/env bash
# Installs the Python packages of a list into a folder of their own, once for each list.
# Usage: install-python.sh LIST FOLDER. Afterwards FOLDER/bin/python has them.
set -euo pipefail
list=$1
folder=$2
if cmp -s "$list" "$folder/requirements.txt"; then exit 0; fi
if ! python3 -c 'import ensurepip, venv' 2>/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get -qq update && apt-get -qq install -y python3-venv >/dev/null
fi
rm -rf "$folder"
python3 -m venv "$folder"
for try in 1 2 3; do
  if "$folder/bin/pip" install --quiet --no-compile --disable-pip-version-check --only-binary :all: -r "$list"; then
    cp "$list" "$folder/requirements.txt"
    exit 0
  fi
  sleep 5
done
echo "the Python packages of $list could not be installed; see above" >&2
exit 1
