#!/bin/bash
# Runs a command in a virtual machine with another kernel and cgroup v2, on a host that mounts cgroup v1. The guest has the host's
# root file system read-only; its changes stay in memory. /tmp in the guest is a separate disk.
#
#   apt-get download linux-image-6.1.0-54-amd64 && dpkg -x linux-image-*.deb KERNEL    # any Debian kernel
#   tools/vm.sh KERNEL make integration
#
# Needs qemu-system-x86_64, a static busybox, cpio and kmod, and root, since it reads every file. Set VM_ACCEL=kvm if the host
# supports it. Emulation takes about twenty times as long; RIG_SLOWNESS=6 extends the timeouts of the tests.
#
# VM_INIT=systemd boots systemd, with D-Bus and logind, and runs the command as a service that a shutdown stops last.
set -euo pipefail

die() {
  echo "vm: $*" >&2
  exit 2
}

[ $# -ge 2 ] || die "usage: tools/vm.sh KERNEL COMMAND…"
for program in qemu-system-x86_64 busybox cpio modprobe mkfs.ext4; do
  command -v "$program" >/dev/null || die "$program not found"
done
repository=$(dirname "$(dirname "$(readlink -f "$0")")")
kernel=$(readlink -f "$1")
shift
release=$(ls "$kernel/lib/modules") || die "$kernel has no lib/modules: not an unpacked kernel package"
[ "$(wc -w <<<"$release")" = 1 ] || die "several kernels in $kernel"
[ -e "$kernel/lib/modules/$release/modules.dep" ] || depmod -b "$kernel" "$release"

work=$(mktemp -d /tmp/vm-XXXXXX)
trap 'rm -rf "$work"' EXIT
truncate -s 12G "$work/disk"

# Modules for mounting the host's root file system.
early="virtio_pci virtio_blk 9p 9pnet_virtio overlay"
top=$work/init
mkdir -p "$top"/{bin,dev,proc,sys,ro,rw,new} "$top/lib/modules/$release"
cp "$(command -v busybox)" "$top/bin/busybox"
cp "$kernel/lib/modules/$release"/modules.* "$top/lib/modules/$release/"
for module in $early; do
  for file in $(modprobe -d "$kernel" -S "$release" --show-depends "$module" | awk '$1 == "insmod" { print $2 }'); do
    install -D "$file" "$top/lib/${file#*/lib/}"
  done
done
cat >"$top/init" <<END
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
for module in $early; do modprobe \$module; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro root /ro
mount -t tmpfs changes /rw; mkdir /rw/upper /rw/work
mount -t overlay -o lowerdir=/ro,upperdir=/rw/upper,workdir=/rw/work overlay /new
mkdir /new/vm
cp /second /command /vm-init /new/vm/
exec switch_root /new /bin/bash /vm/second
END
cat >"$top/second" <<END
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root RIG_SLOWNESS=${RIG_SLOWNESS:-1}
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /dev/mqueue /lib/modules
mount -t devpts devpts /dev/pts; mount -t tmpfs shm /dev/shm; mount -t mqueue mqueue /dev/mqueue; mount -t tmpfs run /run
mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
mount --bind $kernel/lib/modules /lib/modules
for module in ext4 loop dummy veth bridge br_netfilter iptable_nat iptable_filter iptable_mangle xt_nat xt_comment xt_mark \
  xt_MASQUERADE xt_addrtype xt_conntrack xt_multiport xt_tcpudp nft_compat nft_chain_nat; do
  modprobe \$module 2>/dev/null || echo "vm: this kernel has no \$module"
done
mkfs.ext4 -q -F /dev/vda; mount /dev/vda /tmp; chmod 1777 /tmp
# The tests use no external network, but a node needs an address and a default route.
ip link set lo up; ip link add eth0 type dummy; ip address add 192.0.2.2/24 dev eth0; ip link set eth0 up
ip route add default via 192.0.2.1; hostname vm
exec /bin/bash /vm/vm-init
END
cat >"$top/command" <<END
cd $(printf %q "$repository")
echo "vm: $release since \$(cut -d' ' -f1 /proc/uptime) s"
$(printf '%q ' "$@")
echo "vm: exited with \$?"
END

case ${VM_INIT:-none} in
  systemd) cat >"$top/vm-init" <<END
mkdir -p /run/systemd/system
cat >/run/systemd/system/vm.target <<UNIT
[Unit]
Requires=basic.target vm.service
After=basic.target
AllowIsolate=yes
UNIT
# Without the default dependencies, the service survives a shutdown until systemd kills every process that is left.
cat >/run/systemd/system/vm.service <<UNIT
[Unit]
DefaultDependencies=no
Wants=dbus.socket systemd-logind.service
After=basic.target dbus.socket systemd-logind.service
[Service]
Environment=RIG_SLOWNESS=${RIG_SLOWNESS:-1} HOME=/root PATH=\$PATH
ExecStart=/bin/bash -c '. /vm/command; sync; systemctl --force --force poweroff'
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
Delegate=yes
UNIT
# Nothing of the host's own that waits for hardware or the network belongs here.
for unit in systemd-udev-settle systemd-timesyncd systemd-networkd-wait-online containerd postgresql getty@tty1; do
  ln -s /dev/null /run/systemd/system/\$unit.service
done
# A container image, which the host may be, forbids packages to start services.
rm -f /usr/sbin/policy-rc.d
exec /lib/systemd/systemd --unit=vm.target --show-status=false --log-target=kmsg --log-level=warning
END
    ;;
  *) cat >"$top/vm-init" <<END
# A child cgroup, as a service has: the root cgroup lacks files that the kubelet reads in its own cgroup.
echo "+cpu +cpuset +memory +pids +io +hugetlb" >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/command; echo \$\$ >/sys/fs/cgroup/command/cgroup.procs
. /vm/command
sync; echo o >/proc/sysrq-trigger; sleep 60
END
    ;;
esac
chmod +x "$top/init"
(cd "$top" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initrd"

case ${VM_ACCEL:-tcg} in
  kvm) accel=(-accel kvm -cpu host) ;;
  *) accel=(-accel tcg,thread=multi,tb-size=1024 -cpu max) ;;
esac
qemu-system-x86_64 "${accel[@]}" -smp "$(nproc)" -m "${VM_MEMORY:-8192}" -nographic -no-reboot -nodefaults -serial stdio \
  -kernel "$kernel/boot/vmlinuz-$release" -initrd "$work/initrd" \
  -append "console=ttyS0 quiet panic=-1 psi=1" \
  -virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap \
  -drive "file=$work/disk,format=raw,if=virtio,cache=unsafe" </dev/null | sed -u 's|\r||g' | tee "$work/console"
code=$(sed -n 's/.*vm: exited with //p' "$work/console" | tail -1)
exit "${code:-1}"
