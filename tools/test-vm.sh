#!/bin/bash
# The command behind `make test-vm`: tests the package in a virtual machine with a real systemd and logind. Downloads QEMU and a
# kernel from Debian on the first run; the kernel is unpacked into .cache/vm-kernel and not installed.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

die() {
  echo "test-vm: $*" >&2
  exit 2
}

[ "$(id -u)" = 0 ] || die "needs root"
declare -A package_of=([qemu-system-x86_64]=qemu-system-x86 [cpio]=cpio [modprobe]=kmod [dbus-daemon]=dbus-daemon)
missing=()
for program in "${!package_of[@]}"; do
  command -v "$program" >/dev/null || missing+=("${package_of[$program]}")
done
for file in /lib/systemd/systemd:systemd /lib/systemd/systemd-logind:systemd /lib/systemd/system/dbus.socket:dbus; do
  [ -e "${file%:*}" ] || missing+=("${file#*:}")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "test-vm: installing ${missing[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt could not install ${missing[*]}; run apt-get update"
fi

kernel=.cache/vm-kernel
if [ ! -d "$kernel/lib/modules" ]; then
  name=$(apt-cache depends linux-image-amd64 | sed -n 's/ *Depends: \(linux-image-[0-9].*-amd64\)$/\1/p' | head -1)
  [ -n "$name" ] || die "apt knows no kernel; run apt-get update"
  echo "test-vm: downloading $name"
  download=$(mktemp -d)
  trap 'rm -rf "$download"' EXIT
  (cd "$download" && apt-get download -qq "$name") || die "apt could not download $name"
  mkdir -p "$kernel"
  dpkg-deb -x "$download"/*.deb "$kernel"
fi

# Two builds of the same sources, of which the second is newer to dpkg.
packages=dist/vm-packages
rm -rf "$packages"
node tools/run-ts.mjs tools/deb.ts --fast --out="$packages/first"
node tools/run-ts.mjs tools/deb.ts --fast --out="$packages/next" --revision=2
first=$(ls "$PWD/$packages"/first/*.deb)
next=$(ls "$PWD/$packages"/next/*.deb)

echo "test-vm: starting the virtual machine; under emulation this takes some ten minutes"
export VM_INIT=systemd RIG_SLOWNESS="${RIG_SLOWNESS:-6}"
exec tools/vm.sh "$kernel" env CI=1 NO_COLOR=1 VM_PACKAGE="$first" VM_NEXT_PACKAGE="$next" \
  node_modules/.bin/vitest run --config vitest.vm.config.ts --reporter=verbose "$@"
