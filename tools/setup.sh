#!/bin/bash
# Installs what building, running and testing needs and this machine lacks; silent when nothing is missing.
# Every failure is one line that names what is missing.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

die() {
  echo "setup: $*" >&2
  exit 1
}

install_packages() {
  local missing=()
  need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
  PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
  need node nodejs
  need npm npm
  need containerd containerd
  need runc runc
  need busybox busybox-static
  need iptables iptables
  need ip iproute2
  need curl curl
  need kubectl kubernetes-client
  # Sets the clock of one process in tests.
  ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || missing+=(libfaketime)
  need dbus-daemon dbus-daemon
  [ -x /opt/cni/bin/bridge ] || [ -x /usr/lib/cni/bridge ] || missing+=(containernetworking-plugins)
  # busybox must be the static one: it is all there is in the test images.
  if command -v busybox >/dev/null 2>&1 && command -v ldd >/dev/null 2>&1 && ldd "$(command -v busybox)" >/dev/null 2>&1; then
    missing+=(busybox-static)
  fi
  [ ${#missing[@]} -eq 0 ] && return 0

  # Without most of these the build and the unit tests still work; what needs them says so and is skipped.
  if [ "$(id -u)" != 0 ]; then
    echo "setup: not root, so these Debian packages stay missing: ${missing[*]}" >&2
    return 0
  fi
  command -v apt-get >/dev/null 2>&1 || die "no apt-get here; install these first: ${missing[*]}"
  echo "setup: installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local log
  log=$(mktemp)
  # A host's own containerd service is neither needed nor wanted: every run starts a private one.
  local policy=/usr/sbin/policy-rc.d
  local made_policy=
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && made_policy=1
  fi
  local rc=0
  apt-get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1 ||
    { apt-get update >"$log" 2>&1 && apt-get install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; } || rc=1
  [ -n "$made_policy" ] && rm -f "$policy"
  if [ $rc != 0 ]; then
    die "apt could not install ${missing[*]}: $(grep -m1 -E '^(E:|Err)' "$log" || tail -n1 "$log") (all of it: $log)"
  fi
  rm -f "$log"
}

install_modules() {
  command -v node >/dev/null 2>&1 || die "node is missing; install Node.js 20 or newer"
  local major
  major=$(node -p 'process.versions.node.split(".")[0]')
  [ "$major" -ge 20 ] || die "node $(node -v) is too old; Node.js 20 or newer is needed"
  if [ -f node_modules/.package-lock.json ] && ! [ package-lock.json -nt node_modules/.package-lock.json ]; then
    return 0
  fi
  command -v npm >/dev/null 2>&1 || die "npm is missing; install it with Node.js 20 or newer"
  echo "setup: installing npm packages"
  local log
  log=$(mktemp)
  local how=(--ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=1000)
  # npm ci refuses a lock file that lacks optional packages of other platforms; npm install takes what is locked.
  npm ci "${how[@]}" >"$log" 2>&1 ||
    { grep -q EUSAGE "$log" && npm install --no-save "${how[@]}" >"$log" 2>&1; } ||
    die "npm could not install the packages: $(grep -m1 -E '^npm error .*(failed|Missing|not )' "$log" || tail -n1 "$log") (all of it: $log)"
  touch node_modules/.package-lock.json
  rm -f "$log"
}

install_packages
install_modules
