#!/usr/bin/env bash
# Installs the stock command lines `langgraph` (PyPI) and `langgraphjs` (npm), in the newest versions of both, into a folder of their own.
# Usage: install-langgraph.sh FOLDER. Afterwards FOLDER/python/bin/langgraph and FOLDER/js/node_modules/.bin/langgraphjs exist.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/js"
bash "$here/../support/install-python.sh" "$here/langgraph-requirements.txt" "$1/python"
npm install --prefix "$1/js" --no-audit --no-fund --ignore-scripts --silent "@langchain/langgraph-cli@${LANGGRAPH_JS_VERSION:-1.5.1}"
