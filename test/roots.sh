# Root folders of Debian releases, for test/chroot and test/package, which source it after lib.sh. They take root, namespaces and a
# mirror; packages come from the one that this machine's own apt uses. A folder is entered in namespaces of its own: what is
# mounted and what runs there is gone when the command ends, however it ends.

skip() { echo "$(basename "$0"): skipped: $*"; exit 77; }

# Finds the mirror, or skips.
find_mirror() {
    [ "$(id -u)" = 0 ] || skip "a root folder of its own takes root"
    unshare --mount --pid --fork true 2>/dev/null || skip "this machine allows no namespaces of their own"
    command -v apt-get >/dev/null || skip "this is no Debian"
    install_packages debootstrap || skip "debootstrap cannot be installed"
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
        awk '$1 == "Debian" && $2 !~ /-/ {print $3; exit}')
    [ -n "$mirror" ] || skip "apt knows no mirror of Debian"
}

# make_root RELEASE FOLDER
make_root() {
    say "making Debian $1 in $2"
    rm -rf "$2.new"
    debootstrap --variant=minbase "$1" "$2.new" "$mirror" >"$work/debootstrap.log" 2>&1 ||
        { tail -5 "$work/debootstrap.log"; return 1; }
    # No service starts there. A mirror may be a copy of some day whose signatures have run out since.
    printf '#!/bin/sh\nexit 101\n' >"$2.new/usr/sbin/policy-rc.d"
    chmod +x "$2.new/usr/sbin/policy-rc.d"
    { apt-config dump | grep -i '^Acquire::[a-z]*::Proxy' || true; echo 'Acquire::Check-Valid-Until "false";'; } \
        >"$2.new/etc/apt/apt.conf.d/gpujoin"
    mv "$2.new" "$2"
}

# in_root FOLDER COMMAND...; VARIABLE=VALUE may stand before the command.
in_root() {
    local root=$1
    shift
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    unshare --mount --pid --fork --kill-child sh -c '
        mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" &&
            exec chroot "$0" "$@"' "$root" env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root TMPDIR=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
