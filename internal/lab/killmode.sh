set -e
mount --make-rprivate /
root=$1/root
mount -t tmpfs tmpfs "$1/layers"
mkdir "$1/layers/up" "$1/layers/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/layers/up,workdir=$1/layers/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 none "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mkdir "$root/lab"
mount --bind "$1/share" "$root/lab"
mkdir -p "$root/run/systemd/system"
cp "$1/share/one.service" "$1/share/two.service" "$root/run/systemd/system/"
cat >"$root/run/systemd/system/director.service" <<'U'
[Unit]
DefaultDependencies=no
[Service]
ExecStart=/bin/sh -c 'for s in one two; do systemctl start $$s; read x </lab/stop-$$s; systemctl stop $$s; echo $$? >/lab/stopped-$$s; done'
U
export container=lxc
exec chroot "$root" /lib/systemd/systemd --system --unit=director.service --show-status=0 --log-target=null
