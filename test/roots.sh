# Root folders of Debian releases, for test/chroot, test/package and others, which source it after lib.sh. They take root,
# namespaces and a mirror; packages come from the one that this machine's own apt uses. A folder is entered in namespaces of its
# own: what is mounted and what runs there is gone when the command ends, however it ends.
#
#   CHROOTS   where the folders that are kept lie, of about 1.5 GB each (default: gpujoin-chroots in $TMPDIR or /tmp)

skip() { echo "$(basename "$0"): skipped: $*"; exit 77; }

CHROOTS=${CHROOTS:-${TMPDIR:-/tmp}/gpujoin-chroots}

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

# in_root FOLDER COMMAND...; VARIABLE=VALUE may stand before the command. The folders of $BIND are seen there, too, read-only.
in_root() {
    local root=$1
    shift
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    unshare --mount --pid --fork --kill-child sh -c '
        mount --bind "$0" "$0" || exit
        for folder in $BIND; do
            mkdir -p "$0$folder" && mount --bind "$folder" "$0$folder" && mount -o remount,bind,ro "$0$folder" || exit
        done
        mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" &&
            exec chroot "$0" "$@"' "$root" env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root TMPDIR=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# find_root MAJOR [PACKAGE...]: the release that ships this PostgreSQL, with it, its headers and the packages, in a folder that is
# kept for the next time and is this process's until it ends. Sets major, release and root, or skips.
find_root() {
    major=$1 release=${releases[$1]:-}
    shift
    [ -n "$release" ] ||
        skip "no Debian release is known to ship PostgreSQL $major, only $(printf '%s\n' "${!releases[@]}" | sort -n | paste -sd' ')"
    find_mirror
    root=$CHROOTS/$release
    mkdir -p "$CHROOTS"
    exec 9>"$root.lock"
    flock -n 9 || skip "another process works in $root"
    [ -d "$root" ] || make_root "$release" "$root" || skip "debootstrap cannot make Debian $release of $mirror"
    local packages="postgresql-$major postgresql-server-dev-$major $*"
    in_release sh -c "dpkg -s $packages || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages; }" \
        >"$work/packages.log" 2>&1 || { tail -5 "$work/packages.log"; skip "Debian $release does not have $packages now"; }
}

# in_release COMMAND...: in that folder.
in_release() { in_root "$root" JOBS="$JOBS" PG_CONFIG="/usr/lib/postgresql/$major/bin/pg_config" "$@" 9>&-; }

# find_toolkit: has in_root show the CUDA toolkit of this machine, which lies where nvcc says, or skips. Sets nvcc and BIND, the folder.
find_toolkit() {
    nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
    [ -x "$nvcc" ] || skip "there is no nvcc on this machine"
    BIND=$(realpath "$("$nvcc" --dryrun -o x x.cu 2>&1 | sed -n 's/^#\$ TOP=//p')")
    nvcc=$BIND/bin/nvcc
    export BIND
}

# copy_tree FOLDER: the tree as it is here, with what was built there.
copy_tree() {
    mkdir -p "$1"
    find "$1" -mindepth 1 -maxdepth 1 ! -name 'build*' -exec rm -rf {} +
    tar -C "$top" --exclude='./build*' --exclude='./*.so' --exclude=./.git -cf - . | tar -C "$1" -xf -
}
