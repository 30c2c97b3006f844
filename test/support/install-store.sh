#!/usr/bin/env bash
# Builds an object store that others made into a folder, once for each version. It needs Go: versitygw takes two minutes, MinIO ten.
# Usage: install-store.sh versitygw|minio FOLDER. Afterwards AGENTPLANE_TEST_VERSITYGW=FOLDER/versitygw, or
# AGENTPLANE_TEST_MINIO=FOLDER/minio, has the tests use it.
set -euo pipefail
store=${1:?the name of a store is missing} folder=${2:?a folder is missing}
case $store in
versitygw)
  module=github.com/versity/versitygw version=v1.8.0 package=/cmd/versitygw
  sum=h1:au+wI+aybno/STsQiSm35Uu6Q6iK5MWReQxgO6SEMFc=
  ;;
minio)
  module=github.com/minio/minio version=v0.0.0-20260212201848-7aac2a2c5b7c package=
  sum=h1:/qdoYujxF5MBLDMVLeiYJ/7fBa1HikX39Dvzb9Ji8pA=
  ;;
*)
  echo "no store is called $store: versitygw or minio" >&2
  exit 2
  ;;
esac
[ -x "$folder/$store" ] && [ "$(cat "$folder/.version" 2>/dev/null)" = "$version" ] && exit
command -v go >/dev/null || { echo "building $store needs Go" >&2; exit 1; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$folder"
found=$(GOFLAGS= go mod download -json "$module@$version" | sed -nE 's#^[[:space:]]*"Sum": "(.*)",?#\1#p')
[ "$found" = "$sum" ] || { echo "$module $version has the hash $found instead of $sum" >&2; exit 1; }
# its own go.sum, which that hash covers, names what it is built of
CGO_ENABLED=0 GOFLAGS=-buildvcs=false GOBIN=$folder go install -trimpath -ldflags "-s -w" "$module$package@$version"
echo "$version" >"$folder/.version"
