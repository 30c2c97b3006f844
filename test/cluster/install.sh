#!/usr/bin/env bash
# Builds a real Kubernetes from Go modules into $KUBE_HOME/bin (default ~/.cache/agentplane/kube): etcd, kube-apiserver,
# kube-controller-manager, kube-scheduler, kubectl. With --helm also helm, kubeconform, kube-score
# and the OpenAPI document of this Kubernetes; with --node also kubelet, kube-proxy, CoreDNS,
# and containerd, runc, CNI plugins, nftables, buildah and debootstrap from Debian (root). With --metrics also
# metrics-server, by which autoscalers know the load of pods; with --kwok also kwok, which plays nodes for tests of scale.
# What is there already is kept.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
home=${KUBE_HOME:-$HOME/.cache/agentplane/kube}; bin=$home/bin; mkdir -p "$bin"
version=$(sed -nE 's#^(require)?[[:space:]]*k8s.io/kubernetes v([^ ]+).*#\2#p' "$here/kubernetes/go.mod")
export CGO_ENABLED=0 GOFLAGS="-mod=mod -buildvcs=false"
x=k8s.io/component-base/version minor=$(cut -d. -f2 <<<"$version")
stamp="-s -w -X $x.gitVersion=v$version -X $x.gitMajor=1 -X $x.gitMinor=$minor"
wants() { local word; for word in "${@:2}"; do [ "$word" = "$1" ] && return; done; return 1; }

build() { # name, module folder, package, ldflags
  [ -x "$bin/$1" ] && return
  command -v go >/dev/null || { echo "building $1 needs Go" >&2; exit 1; }
  local t=$SECONDS; rm -rf "$home/src-$1"; cp -r "$here/$2" "$home/src-$1"   # a copy: the sources may be read-only
  (cd "$home/src-$1" && go build -trimpath -ldflags "$4" -o "$bin/$1" "$3"); rm -rf "$home/src-$1"
  echo "$1 built in $((SECONDS - t)) s"
}
build etcd etcd go.etcd.io/etcd/server/v3 "-s -w"
for p in kube-apiserver kube-controller-manager kube-scheduler kubectl; do build $p kubernetes k8s.io/kubernetes/cmd/$p "$stamp"; done
if wants --helm "$@" && [ ! -x "$bin/helm" ]; then
  helm=v3.22.0 h=helm.sh/helm/v3   # without the version flags helm believes that it talks to Kubernetes 1.20
  GOFLAGS= GOBIN=$bin go install -trimpath -ldflags "-s -w -X $h/internal/version.version=$helm -X $h/pkg/chartutil.k8sVersionMajor=1 -X $h/pkg/chartutil.k8sVersionMinor=$minor" $h/cmd/helm@$helm
fi
program() { # name, package, version: a program of another module
  [ -x "$bin/$1" ] || GOFLAGS=-buildvcs=false GOBIN=$bin go install -trimpath -ldflags "-s -w" "$2@$3"
}
if wants --helm "$@"; then
  program kubeconform github.com/yannh/kubeconform/cmd/kubeconform v0.8.0
  program kube-score github.com/zegl/kube-score/cmd/kube-score v1.20.0
  if [ ! -f "$home/openapi.json" ]; then
    module=$(cd "$here/kubernetes" && go mod download -json k8s.io/kubernetes@v$version | sed -nE 's#^[[:space:]]*"Dir": "(.*)",#\1#p')
    install -m 644 "$module/api/openapi-spec/swagger.json" "$home/openapi.json"
  fi
fi
if wants --metrics "$@"; then program metrics-server sigs.k8s.io/metrics-server/cmd/metrics-server v0.9.0; fi
if wants --kwok "$@"; then program kwok sigs.k8s.io/kwok/cmd/kwok v0.8.0; fi
wants --node "$@" || exit 0
for p in kubelet kube-proxy; do build $p kubernetes k8s.io/kubernetes/cmd/$p "$stamp"; done
build coredns dns . "-s -w"
have() { local p; for p in "$@"; do command -v "$p" >/dev/null || return; done; }   # command -v of several is content with one
have containerd runc buildah nft debootstrap || {
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends containerd runc containernetworking-plugins iproute2 nftables iptables conntrack kmod buildah debootstrap busybox-static >/dev/null
}
