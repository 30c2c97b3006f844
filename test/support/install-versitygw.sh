#!/usr/bin/env bash
# Builds versitygw, an object store that others made, into a folder, once for each version (Go needed, two minutes).
# Usage: install-versitygw.sh FOLDER. Afterwards AGENTPLANE_TEST_VERSITYGW=FOLDER/versitygw has the tests use it.
set -euo pipefail
folder=${1:?a folder is missing}
module=github.com/versity/versitygw version=v1.8.0
sum=h1:au+wI+aybno/STsQiSm35Uu6Q6iK5MWReQxgO6SEMFc=
[ -x "$folder/versitygw" ] && [ "$(cat "$folder/.version" 2>/dev/null)" = "$version" ] && exit
command -v go >/dev/null || { echo "building versitygw needs Go" >&2; exit 1; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$folder"
found=$(GOFLAGS= go mod download -json "$module@$version" | sed -nE 's#^[[:space:]]*"Sum": "(.*)",?#\1#p')
[ "$found" = "$sum" ] || { echo "$module $version has the hash $found instead of $sum" >&2; exit 1; }
# its own go.sum, which that hash covers, names what it is built of
CGO_ENABLED=0 GOFLAGS=-buildvcs=false GOBIN=$folder go install -trimpath -ldflags "-s -w" "$module/cmd/versitygw@$version"
echo "$version" >"$folder/.version"
