#!/usr/bin/env bash
# Installs the reference server that ours is compared with into a folder of its own, once for each list of its packages.
# Usage: install-reference.sh FOLDER. Afterwards AGENTPLANE_TEST_REFERENCE=FOLDER/bin/python names it. Its packages have
# licences of their own; nothing of them comes with this repository.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec bash "$here/../support/install-python.sh" "$here/reference/requirements.txt" "$1"
