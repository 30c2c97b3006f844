#!/usr/bin/env bash
# A real Kubernetes on this machine, from the binaries of install.sh. Everything listens on loopback or on the bridge
# of its own pods; state lies in $KUBE_HOME/run.
#   cluster.sh up            etcd, API server, controller manager, scheduler: everything but a node (bring your own)
#   cluster.sh up --node     and a kubelet on containerd, kube-proxy, CoreDNS: pods really run (root)
#   cluster.sh metrics       adds metrics-server to `up --node`: what pods use, for autoscalers and `kubectl top`
#   cluster.sh load FILE     imports an archive of images, such as that of images.sh
#   cluster.sh tag NAME NEW  gives an image one more name
#   cluster.sh restart NAME  stops one of its programs and starts it again: apiserver, kubelet
#   cluster.sh halt          stops the node and kills what it runs, as if its power was cut; the control plane stays
#   cluster.sh boot          starts the node again
#   cluster.sh down          stops all of it; `down --purge` forgets its state too
# kubeconfig: $KUBE_HOME/run/admin.kubeconfig
set -euo pipefail
home=${KUBE_HOME:-$HOME/.cache/agentplane/kube}; bin=$home/bin; run=$home/run; port=${KUBE_PORT:-16443}
# with another KUBE_HOME and KUBE_PORT a second control plane lives beside the first: all ports move together
move=$((port - 16443)); etcd=$((12379 + move)); peer=$((12380 + move)); manager=$((16257 + move)); scheduler=$((16259 + move))
metrics=$((16261 + move))
socket=/run/kube-test/containerd.sock
gateway=10.244.0.1; pods=10.244.0.0/24; services=10.96.0.0/16

start() { local name=$1; shift; setsid "$@" >"$run/log/$name.log" 2>&1 </dev/null & echo $! >"$run/pid/$name"; }
wait_for() { # and the last words of each server where it does not come
  local what=$1 i; shift
  for i in $(seq 240); do "$@" >/dev/null 2>&1 && return; sleep 0.25; done
  echo "$what did not come up; see $run/log" >&2; tail -n 3 "$run"/log/*.log >&2; exit 1
}
admin() { "$bin/kubectl" --kubeconfig "$run/admin.kubeconfig" "$@"; }

certificates() {
  [ -f "$run/pki/ca.crt" ] && return
  cd "$run/pki"
  openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 3650 -subj /CN=kube-test 2>/dev/null
  openssl genrsa -out sa.key 2048 2>/dev/null; openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
  # of callers that the API server stands for at servers such as metrics-server: whoever has it may claim to be anybody
  openssl req -x509 -newkey rsa:2048 -nodes -keyout front-ca.key -out front-ca.crt -days 3650 -subj /CN=kube-test-front 2>/dev/null
  issue() { local ca=${4:-ca}
            openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
            openssl x509 -req -in "$1.csr" -CA "$ca.crt" -CAkey "$ca.key" -CAcreateserial -days 3650 -out "$1.crt" -extfile <(printf '%s' "$3") 2>/dev/null; }
  issue apiserver /CN=kube-apiserver "subjectAltName=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.96.0.1,IP:$gateway"
  issue kubelet-server /CN=node-1 "subjectAltName=DNS:node-1,IP:127.0.0.1,IP:$gateway"
  issue kubelet-client /O=system:masters/CN=apiserver "extendedKeyUsage=clientAuth"
  issue admin /O=system:masters/CN=admin "extendedKeyUsage=clientAuth"
  issue controller-manager /CN=system:kube-controller-manager "extendedKeyUsage=clientAuth"
  issue scheduler /CN=system:kube-scheduler "extendedKeyUsage=clientAuth"
  issue proxy /CN=system:kube-proxy "extendedKeyUsage=clientAuth"
  issue node /O=system:nodes/CN=system:node:node-1 "extendedKeyUsage=clientAuth"
  issue dns /O=system:masters/CN=dns "extendedKeyUsage=clientAuth"
  issue metrics /O=system:masters/CN=metrics "extendedKeyUsage=clientAuth"
  issue front /CN=front "extendedKeyUsage=clientAuth" front-ca
  for user in admin controller-manager scheduler proxy node dns metrics; do cat >"$run/$user.kubeconfig" <<Y
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://127.0.0.1:$port", certificate-authority: $run/pki/ca.crt}}]
users: [{name: $user, user: {client-certificate: $run/pki/$user.crt, client-key: $run/pki/$user.key}}]
contexts: [{name: test, context: {cluster: test, user: $user}}]
current-context: test
Y
  done
  cd - >/dev/null
}

apiserver() { # of a cluster with a node or without
  local advertise bind=127.0.0.1 verify=
  if [ "$1" = node ]; then
    verify=--kubelet-certificate-authority=$run/pki/ca.crt   # a node of your own may serve its logs with any certificate
    ip link show kube-test0 >/dev/null 2>&1 || { ip link add kube-test0 type bridge; ip addr add $gateway/24 dev kube-test0; ip link set kube-test0 up; }
    advertise=$gateway; bind=0.0.0.0
  else advertise=10.96.255.254   # never dialled: an API server refuses to advertise loopback
  fi
  start apiserver "$bin/kube-apiserver" --etcd-servers=http://127.0.0.1:$etcd --secure-port="$port" --bind-address=$bind --advertise-address=$advertise \
    --tls-cert-file="$run/pki/apiserver.crt" --tls-private-key-file="$run/pki/apiserver.key" --client-ca-file="$run/pki/ca.crt" \
    --service-account-key-file="$run/pki/sa.pub" --service-account-signing-key-file="$run/pki/sa.key" --service-account-issuer=https://kubernetes.default.svc \
    --authorization-mode=Node,RBAC --service-cluster-ip-range=$services --allow-privileged=true \
    --kubelet-client-certificate="$run/pki/kubelet-client.crt" --kubelet-client-key="$run/pki/kubelet-client.key" ${verify:+"$verify"} --kubelet-preferred-address-types=InternalIP \
    --requestheader-client-ca-file="$run/pki/front-ca.crt" --requestheader-allowed-names=front --proxy-client-cert-file="$run/pki/front.crt" --proxy-client-key-file="$run/pki/front.key" \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group --requestheader-extra-headers-prefix=X-Remote-Extra-
  wait_for "the API server" admin get --raw /readyz
}

control_plane() {
  start etcd "$bin/etcd" --data-dir "$run/etcd" --listen-client-urls http://127.0.0.1:$etcd --advertise-client-urls http://127.0.0.1:$etcd \
    --listen-peer-urls http://127.0.0.1:$peer --initial-advertise-peer-urls http://127.0.0.1:$peer --initial-cluster default=http://127.0.0.1:$peer --log-level warn
  apiserver "$1"
  controller_manager
  start scheduler "$bin/kube-scheduler" --kubeconfig="$run/scheduler.kubeconfig" --authentication-kubeconfig="$run/scheduler.kubeconfig" --authorization-kubeconfig="$run/scheduler.kubeconfig" --leader-elect=false --secure-port=$scheduler --bind-address=127.0.0.1
  wait_for "the default service account" default_account
}

controller_manager() {
  start controller-manager "$bin/kube-controller-manager" --kubeconfig="$run/controller-manager.kubeconfig" --authentication-kubeconfig="$run/controller-manager.kubeconfig" --authorization-kubeconfig="$run/controller-manager.kubeconfig" \
    --service-account-private-key-file="$run/pki/sa.key" --root-ca-file="$run/pki/ca.crt" --use-service-account-credentials --leader-elect=false --secure-port=$manager --bind-address=127.0.0.1
}

default_account() { # which the controller manager makes: it ends for good when the API server takes ten seconds for an answer
  kill -0 "$(cat "$run/pid/controller-manager")" || controller_manager
  admin -n default get serviceaccount default
}

pause_image() { # the sandbox image of every pod: one process that waits, and busybox for tests that look into a pod
  [ -f "$run/pause.tar" ] && return
  local work; work=$(mktemp -d)
  printf 'package main\n\nimport (\n\t"os"\n\t"os/signal"\n\t"syscall"\n)\n\nfunc main() {\n\tc := make(chan os.Signal, 1)\n\tsignal.Notify(c, syscall.SIGINT, syscall.SIGTERM)\n\t<-c\n}\n' >"$work/pause.go"
  CGO_ENABLED=0 go build -ldflags "-s -w" -o "$work/pause" "$work/pause.go"
  local c; c=$(buildah --storage-driver vfs from scratch)
  buildah --storage-driver vfs copy "$c" "$work/pause" /pause >/dev/null
  local name; for name in busybox sh; do buildah --storage-driver vfs copy "$c" /bin/busybox /bin/$name >/dev/null; done
  buildah --storage-driver vfs config --entrypoint '["/pause"]' "$c"
  buildah --storage-driver vfs commit "$c" localhost/pause:test >/dev/null 2>&1
  buildah --storage-driver vfs push localhost/pause:test "docker-archive:$run/pause.tar:localhost/pause:test" >/dev/null 2>&1
  buildah --storage-driver vfs rm "$c" >/dev/null; rm -rf "$work"
}

node() {
  mkdir -p "$run/cni"
  cat >"$run/cni/10-bridge.conflist" <<Y
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "kube-test0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$run/cni-state", "ranges": [[{"subnet": "$pods"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
Y
  cat >"$run/containerd.toml" <<Y
version = 2
root = "$run/containerd"
state = "/run/kube-test"
[grpc]
  address = "$socket"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:test"
  restrict_oom_score_adj = true   # without CAP_SYS_RESOURCE a pod could not start otherwise
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$run/certs.d"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$run/cni"
Y
  containers
  pause_image; ctr -a "$socket" -n k8s.io images import "$run/pause.tar" >/dev/null
  sysctl -qw net.ipv4.ip_forward=1; sysctl -qw net.bridge.bridge-nf-call-iptables=1 || true
  : >"$run/resolv.conf"
  cat >"$run/kubelet.yaml" <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://$socket
cgroupDriver: cgroupfs
failSwapOn: false
failCgroupV1: false
address: $gateway
port: 20250
healthzPort: 20248
clusterDNS: [$gateway]
clusterDomain: cluster.local
resolvConf: $run/resolv.conf
tlsCertFile: $run/pki/kubelet-server.crt
tlsPrivateKeyFile: $run/pki/kubelet-server.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $run/pki/ca.crt}}
authorization: {mode: Webhook}
evictionHard: {memory.available: "100Mi"}
imageGCHighThresholdPercent: 100
localStorageCapacityIsolation: false
enforceNodeAllocatable: []
Y
  cat >"$run/proxy.yaml" <<Y
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: $run/proxy.kubeconfig}
mode: nftables
clusterCIDR: $pods
hostnameOverride: node-1
conntrack: {maxPerCore: 0}
healthzBindAddress: 127.0.0.1:20256
metricsBindAddress: 127.0.0.1:20249
Y
  printf 'cluster.local:53 {\n  bind %s\n  errors\n  ready 127.0.0.1:20253\n  kubernetes cluster.local {\n    kubeconfig %s test\n  }\n}\n' $gateway "$run/dns.kubeconfig" >"$run/Corefile"
  pods
}

containers() { mkdir -p /run/kube-test; start containerd containerd -c "$run/containerd.toml"; wait_for containerd ctr -a "$socket" version; }

kubelet() {
  start kubelet "$bin/kubelet" --config="$run/kubelet.yaml" --kubeconfig="$run/node.kubeconfig" --hostname-override=node-1 --node-ip=$gateway --root-dir="$run/kubelet"
  wait_for "the kubelet" curl -fsS http://127.0.0.1:20248/healthz
  wait_for "the node" admin wait --for=condition=Ready node/node-1 --timeout=1s
  # without isolation of local storage the kubelet names none of it, and nothing that requests some could be placed
  admin patch node node-1 --subresource=status --type=merge -p '{"status":{"capacity":{"ephemeral-storage":"50Gi"},"allocatable":{"ephemeral-storage":"50Gi"}}}' >/dev/null
}

pods() { # what makes them and leads to them
  start proxy "$bin/kube-proxy" --config="$run/proxy.yaml"
  start coredns "$bin/coredns" -conf "$run/Corefile"
  kubelet
}

metrics_server() { # on this machine, behind a Service as in any cluster
  start metrics-server "$bin/metrics-server" --kubeconfig="$run/metrics.kubeconfig" --authentication-kubeconfig="$run/metrics.kubeconfig" --authorization-kubeconfig="$run/metrics.kubeconfig" \
    --secure-port=$metrics --bind-address=$gateway --cert-dir="$run/metrics" --kubelet-use-node-status-port --kubelet-preferred-address-types=InternalIP \
    --kubelet-certificate-authority="$run/pki/ca.crt" --metric-resolution=15s
  admin apply -f - <<Y
apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec: {ports: [{name: https, port: 443, targetPort: $metrics}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: metrics-server, namespace: kube-system, labels: {kubernetes.io/service-name: metrics-server}}
addressType: IPv4
ports: [{name: https, port: $metrics}]
endpoints: [{addresses: [$gateway], conditions: {ready: true}}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  service: {name: metrics-server, namespace: kube-system}
  group: metrics.k8s.io
  version: v1beta1
  insecureSkipTLSVerify: true
  groupPriorityMinimum: 100
  versionPriority: 100
Y
  wait_for "the metrics of the node" admin get --raw /apis/metrics.k8s.io/v1beta1/nodes/node-1
}

stop() { # by its own pid file, patiently, then not
  [ -f "$run/pid/$1" ] || return 0
  local pid i; pid=$(cat "$run/pid/$1"); rm -f "$run/pid/$1"
  kill "$pid" 2>/dev/null || return 0
  for i in $(seq 12); do kill -0 "$pid" 2>/dev/null || return 0; sleep 0.25; done
  kill -9 "$pid" 2>/dev/null || true
}

halt() {
  local p
  for p in proxy coredns kubelet; do stop $p; done
  if [ -f "$run/pid/containerd" ] && [ -S "$socket" ]; then # not that of another cluster
    ctr -a "$socket" -n k8s.io tasks ls -q 2>/dev/null | while read -r p; do ctr -a "$socket" -n k8s.io tasks kill -s KILL "$p" 2>/dev/null || true; done
    sleep 1
    for p in $(pgrep -f -- "-address $socket"); do kill -9 "$p" 2>/dev/null || true; done
  fi
  stop containerd
}

forget_containers() { # as a boot finds /run empty
  { grep -oE " ${1:-/run/kube-test}[^ ]*" /proc/mounts || true; } | sort -r | xargs -r umount -l 2>/dev/null || true
  rm -rf /run/kube-test
}

forget_network() { # of pods that nobody removed, too
  local p chain
  { ip -o link show master kube-test0 2>/dev/null | grep -oE 'link-netns [^ ]+' || true; } | cut -d' ' -f2 | while read -r p; do ip netns delete "$p" || true; done
  ip link del kube-test0 2>/dev/null || true
  for p in ip ip6; do nft delete table $p kube-proxy 2>/dev/null || true; done
  { iptables -w -t nat -S POSTROUTING 2>/dev/null | grep -E -- "-s ${pods%.*}\\.[0-9]+/32 .*-j CNI-" || true; } | while read -r p; do
    chain=${p##* }
    eval "iptables -w -t nat -D ${p#-A }"; iptables -w -t nat -F "$chain"; iptables -w -t nat -X "$chain"
  done
}

down() {
  local p
  halt
  for p in metrics-server scheduler controller-manager apiserver etcd; do stop $p; done
  [ "${1:-}" = --purge ] || return 0
  if [ ! -d "$run/cni" ]; then rm -rf "$run"; return; fi # never had a node
  forget_containers "($run|/run/kube-test)"
  forget_network
  rm -rf "$run"
}

case "${1:-}" in
  up) mkdir -p "$run"/{pki,log,pid}; certificates
      if [ "${2:-}" = --node ]; then control_plane node; node; else control_plane api; fi
      echo "$run/admin.kubeconfig" ;;
  metrics) metrics_server ;;
  load) ctr -a "$socket" -n k8s.io images import "$2" ;;
  tag) ctr -a "$socket" -n k8s.io images tag --force "$2" "$3" ;;
  restart) stop "$2"
      case "$2" in
        apiserver) if [ -d "$run/cni" ]; then apiserver node; else apiserver api; fi ;;
        kubelet) kubelet ;;
        *) echo "restart: $2 is not known here" >&2; exit 2 ;;
      esac ;;
  halt) halt; forget_containers ;;
  boot) containers; pods ;;
  down) down "${2:-}" ;;
  *) sed -n '2,14p' "$0"; exit 2 ;;
esac
