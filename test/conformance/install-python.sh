#!/usr/bin/env bash
# Installs the Python clients that the conformance rows drive into a folder of their own, once for each list of them.
# Usage: install-python.sh FOLDER. Afterwards FOLDER/bin/python has them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec bash "$here/../support/install-python.sh" "$here/agent-server/python/requirements.txt" "$1"
