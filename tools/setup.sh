#!/bin/bash
# Installs the missing packages for building, running and testing; silent if nothing is missing.
# --browser: also Chromium (300 MB), which the tests of the node's page and their pictures need; building and running do not.
# Every failure is one line that names what is missing.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

die() {
  echo "setup: $*" >&2
  exit 1
}

browser=0
[ "${1-}" = --browser ] && browser=1

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
  # Shifts the clock of a process in tests.
  ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || missing+=(libfaketime)
  need dbus-daemon dbus-daemon
  need systemd-inhibit systemd
  # A process in the place of systemd-logind in tests.
  for module in dbus gi; do
    [ -e /usr/lib/python3/dist-packages/$module ] || missing+=(python3-$module)
  done
  # Its packages depend on fonts, without which pages have no text.
  [ "$browser" = 0 ] || need chromium chromium
  [ -x /opt/cni/bin/bridge ] || [ -x /usr/lib/cni/bridge ] || missing+=(containernetworking-plugins)
  # busybox must be static: the test images contain nothing else.
  if command -v busybox >/dev/null 2>&1 && command -v ldd >/dev/null 2>&1 && ldd "$(command -v busybox)" >/dev/null 2>&1; then
    missing+=(busybox-static)
  fi
  [ ${#missing[@]} -eq 0 ] && return 0

  # The build and most unit tests work without these; tests that need them are skipped with a reason.
  if [ "$(id -u)" != 0 ]; then
    echo "setup: not root, these Debian packages stay missing: ${missing[*]}" >&2
    return 0
  fi
  command -v apt-get >/dev/null 2>&1 || die "apt-get not found; install these packages: ${missing[*]}"
  echo "setup: installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local log
  log=$(mktemp)
  # Keeps apt from starting a containerd service: every run starts a private containerd.
  local policy=/usr/sbin/policy-rc.d
  local created_policy=
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && created_policy=1
  fi
  local rc=0
  apt-get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1 ||
    { apt-get update >"$log" 2>&1 && apt-get install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; } || rc=1
  [ -n "$created_policy" ] && rm -f "$policy"
  if [ $rc != 0 ]; then
    die "apt could not install ${missing[*]}: $(grep -m1 -E '^(E:|Err)' "$log" || tail -n1 "$log") (full output: $log)"
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
  # npm ci rejects a lock file without the optional packages of other platforms; npm install accepts it.
  npm ci "${how[@]}" >"$log" 2>&1 ||
    { grep -q EUSAGE "$log" && npm install --no-save "${how[@]}" >"$log" 2>&1; } ||
    die "npm could not install the packages: $(grep -m1 -E '^npm error .*(failed|Missing|not )' "$log" || tail -n1 "$log") (full output: $log)"
  touch node_modules/.package-lock.json
  rm -f "$log"
}

install_packages
install_modules
